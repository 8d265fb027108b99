/* LCP files: the three formats, round trips, positions of errors. */
#include "knuckle/lcp_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static kn_status parse(kn_lcp_file* f, const char* name, const char* text) {
  return kn_lcp_file_parse(f, name, text, strlen(text));
}

TEST(json_problems_are_read) {
  kn_lcp_file f;
  if (!CHECK_OK(parse(
          &f, "a.json",
          "{\"title\": \"two \\\"boxes\\\"\", \"n\": 2, \"M\": [[2, 1],\n[1, 2.5]], \"q\": [-5, -6e0],\n"
          " \"lo\": [0, null], \"hi\": [null, 3], \"extra\": {\"a\": [1, {\"b\": null}]}}")))
    return;
  CHECK_INT(f.lcp.n, 2);
  CHECK_TEXT(f.title, "two \"boxes\"");
  CHECK_ARRAY(f.lcp.M, ((double[]){2, 1, 1, 2.5}), 4, 0);
  CHECK_ARRAY(f.lcp.q, ((double[]){-5, -6}), 2, 0);
  CHECK(f.lcp.lo[0] == 0 && f.lcp.lo[1] == -INFINITY && f.lcp.hi[0] == INFINITY && f.lcp.hi[1] == 3);
  kn_lcp_file_free(&f);
  if (CHECK_OK(parse(&f, "b.json", "{\"M\": [1, 0, 0, 1], \"q\": [1, 1]}")))
    CHECK(f.lcp.n == 2 && !f.lcp.lo && !f.lcp.hi);
  kn_lcp_file_free(&f);
  CHECK_OK(parse(&f, "c.json", "{\"M\": [], \"q\": []}"));
  CHECK_INT(f.lcp.n, 0);
  kn_lcp_file_free(&f);
}

TEST(errors_have_line_and_column) {
  static const struct {
    const char *name, *text, *part;
  } bad[] = {
      {"a.json", "{\"M\": [[1, 2],\n [3, x]], \"q\": [1, 2]}", "a.json:2:6: expected M, a number"},
      {"a.json", "{\"M\": [[1, 2], [3]],\n\"q\": [1, 2]}", "row 1 has 1 numbers"},
      {"a.json", "{\"M\": [1, 2, 3],\n\"q\": [1, 2]}", "a.json:1:7: M has 3 numbers"},
      {"a.json", "{\"M\": [1],\n  \"q\": [1, 2]}", "expected 2 x 2"},
      {"a.json", "{\"M\": [1]}", "\"q\" is missing"},
      {"a.json", "{\"M\": [1e999], \"q\": [1]}", "a.json:1:8: M: \"1e999\" is not a finite number"},
      {"a.json", "{\"M\": [nan], \"q\": [1]}", "not a finite number"},
      {"a.json", "{\"M\": [1], \"q\": [1], \"lo\": [2], \"hi\": [1]}", "bounds of row 0"},
      {"a.json", "{\"M\": [1], \"q\": [1]} x", "a.json:1:22: text after"},
      {"a.json", "{\"M\": [[[1]]], \"q\": [1]}", "too deep"},
      {"a.json", "{\"n\": -1, \"M\": [1], \"q\": [1]}", "a.json:1:7: n is -1"},
      {"a.json", "", "a.json:1:1: file ends"},
      {"a.json", "{\"M", "without an end"},
      {"a.dat", "2\n0\n2\n2\n2 2\n1 1\n1", "a.dat:7:2: file ends, expected an entry of M"},
      {"a.dat", "2\n3\n", "a.dat:2:1: storage"},
      {"a.dat", "2\n0\n2\n3\n", "a.dat:4:1: size of the matrix is 3"},
      {"a.dat", "99999999\n0\n", "a.dat:1:1: number of rows"},
      {"a.dat", "2\n1\n2\n2\n1\n1\n1\n5\n", "a.dat:8:1: end of a block row is 5"},
      {"a.lcp", "ab", "a.lcp: byte 2"},
      {"a.lcp", "\1\0\0\0", "a.lcp"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    kn_lcp_file f;
    CHECK_STATUS(parse(&f, bad[k].name, bad[k].text), KN_BAD_FILE);
    CHECK_TEXT(kn_last_error(), bad[k].part);
    CHECK(f.memory == NULL);
  }
  kn_lcp_file f;
  CHECK_STATUS(kn_lcp_file_read(&f, "/nonexistent/x.json"), KN_NOT_FOUND);
}

/* Every prefix of a good file is refused or read, never worse. */
TEST(truncated_files_are_refused) {
  const char* good = "{\"title\":\"t\\u00e4\",\"n\":1,\"M\":[[2]],\"q\":[-1],\"lo\":[null],\"hi\":[1]}";
  for (size_t n = 0; n < strlen(good); n++) {
    kn_lcp_file f;
    char* copy = malloc(n + 1); /* exactly as long: a reader beyond the end is seen by the sanitizer */
    memcpy(copy, good, n);
    CHECK_STATUS(kn_lcp_file_parse(&f, "a.json", copy, n), KN_BAD_FILE);
    free(copy);
  }
}

TEST(written_files_read_back_to_the_same_bits) {
  double M[4] = {1.0 / 3, -2e-300, 1e300, 0.1}, q[2] = {-1.0 / 7, 3}, lo[2] = {0, -INFINITY},
         hi[2] = {INFINITY, 0.3};
  kn_lcp lcp = {2, M, q, lo, hi};
  char path[] = "/tmp/kn-lcp-XXXXXX";
  int fd = mkstemp(path);
  if (!CHECK(fd >= 0)) return;
  close(fd);
  kn_lcp_file f;
  CHECK_OK(kn_lcp_file_write(path, &lcp, "a \"title\"", q));
  if (CHECK_OK(kn_lcp_file_read(&f, path))) {
    CHECK(memcmp(f.lcp.M, M, sizeof M) == 0 && memcmp(f.lcp.q, q, sizeof q) == 0);
    CHECK(memcmp(f.lcp.lo, lo, sizeof lo) == 0 && memcmp(f.lcp.hi, hi, sizeof hi) == 0);
  }
  kn_lcp_file_free(&f);
  unlink(path);
}

TEST(published_files_are_read) {
  static const char* const names[] = {"lcp/lcp_ortiz.dat",   "lcp/lcp_ortiz_block.dat",
                                      "lcp/lcp_deudeu.dat",  "lcp/lcp_deudeu_block.dat",
                                      "lcp/lcp_trivial.dat", "lcp/lcp_trivial_block.dat"};
  kn_lcp_file f[2];
  for (int k = 0; k < 6; k += 2) { /* block storage and dense storage of the same problem */
    if (!kn_test_data(names[k])) SKIP("no data");
    if (!CHECK_OK(kn_lcp_file_read(&f[0], kn_test_data(names[k])))) return;
    if (!CHECK_OK(kn_lcp_file_read(&f[1], kn_test_data(names[k + 1])))) return;
    CHECK_INT(f[0].lcp.n, f[1].lcp.n);
    size_t n = (size_t)f[0].lcp.n;
    if (k < 4) CHECK_ARRAY(f[0].lcp.M, f[1].lcp.M, n * n, 0);
    CHECK_ARRAY(f[0].lcp.q, f[1].lcp.q, n, 0);
    kn_lcp_file_free(&f[0]), kn_lcp_file_free(&f[1]);
  }
  if (CHECK_OK(kn_lcp_file_read(&f[0], kn_test_data("lcp/contact/Rover1039.lcp")))) CHECK_INT(f[0].lcp.n, 4);
  kn_lcp_file_free(&f[0]);
}
