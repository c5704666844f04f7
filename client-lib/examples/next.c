/* Takes one ID, then a hundred at once. Build: cc next.c $(pkg-config --cflags --libs libseqd)
 * Usage: next SEQUENCE [SOCKET] */
#include <inttypes.h>
#include <seqd.h>
#include <stdio.h>

static int complain(const char* what, int code, const seqd_client* client) {
  fprintf(stderr, "%s: %s: %s\n", what, seqd_error_name(code), seqd_last_error(client));
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s SEQUENCE [SOCKET]\n", argv[0]);
    return 2;
  }
  seqd_options options = SEQD_OPTIONS_INIT;
  options.name = "example";
  if (argc > 2) options.socket_path = argv[2];
  seqd_client* client = NULL;
  int code = seqd_open(&options, &client);
  if (code != SEQD_OK) {
    int failed = complain("open", code, client);
    seqd_close(client);
    return failed;
  }

  int64_t id = 0;
  code = seqd_next(client, argv[1], &id);
  if (code != SEQD_OK) {
    int failed = complain("next", code, client);
    seqd_close(client);
    return failed;
  }
  printf("one ID: %" PRId64 "\n", id);

  const seqd_run* runs = NULL;
  size_t run_count = 0;
  code = seqd_range(client, argv[1], 100, &runs, &run_count);
  if (code != SEQD_OK) {
    int failed = complain("range", code, client);
    seqd_close(client);
    return failed;
  }
  for (size_t i = 0; i < run_count; ++i)
    printf("%" PRId64 " IDs from %" PRId64 " in steps of %" PRId64 "\n", runs[i].count,
           runs[i].first, runs[i].step);
  seqd_close(client);
  return 0;
}
