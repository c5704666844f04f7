// Read by ThreadSanitizer when the adapter tests start. Debian's MongoDB driver is not built for
// it: the sanitizer sees what the driver frees, but not the atomic reference counts that say when.
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:libmongoc-1.0.so\nrace:libbson-1.0.so\n";
}
#endif
