#include "client-lib/seqctl/live/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace seqd::seqctl {
namespace {

// No window has more: larger sizes that a terminal reports are ignored.
constexpr std::size_t kMost = 1'000;

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
  const locale_t locale = ::newlocale(LC_CTYPE_MASK, "", nullptr);
  if (locale == nullptr) return false;
  const bool is = std::string_view(::nl_langinfo_l(CODESET, locale)) == "UTF-8";
  ::freelocale(locale);
  return is;
}

}  // namespace

Terminal terminal_of(int descriptor) {
  Terminal terminal;
  const std::string_view term = environment("TERM");
  terminal.is_one = ::isatty(descriptor) == 1 && !term.empty() && term != "dumb";
  if (!terminal.is_one) return terminal;
  terminal.utf8 = locale_is_utf8();
  terminal.colours = environment("NO_COLOR").empty();
  winsize size = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    terminal.rows = std::min<std::size_t>(size.ws_row, kMost);
    terminal.columns = std::min<std::size_t>(size.ws_col, kMost);
  }
  return terminal;
}

}  // namespace seqd::seqctl
