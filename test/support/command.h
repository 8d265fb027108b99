/* Runs the command line as a user would and keeps what it wrote. */
#ifndef KN_TEST_COMMAND_H
#define KN_TEST_COMMAND_H

typedef struct kn_test_result {
  int status; /* exit status, -1 if it did not exit */
  char out[1 << 18], err[8192];
} kn_test_result;

/* `knuckle ARGUMENTS` by the shell; the result is valid until the next call. */
kn_test_result* kn_test_knuckle(const char* arguments);

/* Writes a file of a test's own folder, "/tmp/NAME-XXXXXX" until the first call makes it; its path, valid until the
   next call. */
const char* kn_test_put(char* folder, const char* name, const char* text);

#endif
