/* Takes IDs inside this process, from blocks, with two threads on one handle. The sequence needs
 * `blocks = true`. Build: cc -pthread blocks.c $(pkg-config --cflags --libs libseqd)
 * Usage: blocks SEQUENCE COUNT [SOCKET] */
#include <inttypes.h>
#include <pthread.h>
#include <seqd_blocks.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
  seqd_blocks* blocks;
  int64_t count;
  int64_t last;
  int failed;
};

static void* take(void* argument) {
  struct job* job = argument;
  for (int64_t i = 0; i < job->count; ++i) {
    int code = seqd_blocks_next(job->blocks, &job->last);
    if (code == SEQD_OK) continue;
    fprintf(stderr, "next: %s: %s\n", seqd_error_name(code), seqd_blocks_last_error());
    job->failed = 1;
    return NULL;
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s SEQUENCE COUNT [SOCKET]\n", argv[0]);
    return 2;
  }
  seqd_options options = SEQD_OPTIONS_INIT;
  options.name = "example";
  if (argc > 3) options.socket_path = argv[3];
  seqd_blocks* blocks = NULL;
  int code = seqd_blocks_open(&options, argv[1], &blocks);
  if (code != SEQD_OK) {
    fprintf(stderr, "open: %s: %s\n", seqd_error_name(code), seqd_blocks_last_error());
    return 1;
  }
  struct job jobs[2] = {{blocks, atoll(argv[2]), 0, 0}, {blocks, atoll(argv[2]), 0, 0}};
  pthread_t threads[2];
  int started = 0;
  while (started < 2 && pthread_create(&threads[started], NULL, take, &jobs[started]) == 0)
    ++started;
  int failed = started < 2;
  for (int i = 0; i < started; ++i) {
    pthread_join(threads[i], NULL);
    failed |= jobs[i].failed;
    printf("thread %d: the last of %" PRId64 " IDs is %" PRId64 "\n", i, jobs[i].count,
           jobs[i].last);
  }
  seqd_blocks_close(blocks);
  return failed;
}
