#include "output/json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "test.h"

/* What was written into memory, read back by an independent parser. */
typedef struct written {
  char* text;
  size_t length;
  FILE* file;
  kn_json j;
} written;

static void start(written* w) {
  w->file = open_memstream(&w->text, &w->length);
  kn_json_open(&w->j, w->file, false);
}

static json_t* finish(written* w) {
  json_error_t error;
  CHECK(kn_json_close(&w->j));
  fclose(w->file);
  json_t* root = json_loads(w->text, JSON_DECODE_ANY, &error);
  if (!root) printf("%s: %s\n", error.text, w->text);
  CHECK(root != NULL);
  return root;
}

static void stop(written* w, json_t* root) {
  json_decref(root);
  free(w->text);
}

TEST(nested_members_read_back) {
  written w;
  start(&w);
  kn_json_begin(&w.j, NULL);
  kn_json_text(&w.j, "name", "a \"quoted\"\n\\ line\t\x01 µ");
  kn_json_array(&w.j, "rows");
  for (int i = 0; i < 3; i++) {
    kn_json_begin(&w.j, NULL);
    kn_json_int(&w.j, "i", i);
    kn_json_bool(&w.j, "odd", i % 2);
    kn_json_end(&w.j);
  }
  kn_json_end(&w.j);
  kn_json_numbers(&w.j, "none", NULL, 0);
  kn_json_null(&w.j, "nothing");
  json_t* root = finish(&w);
  CHECK_TEXT(json_string_value(json_object_get(root, "name")), "a \"quoted\"\n\\ line\t\x01 µ");
  CHECK_INT(json_array_size(json_object_get(root, "rows")), 3);
  CHECK(json_is_true(json_object_get(json_array_get(json_object_get(root, "rows"), 1), "odd")));
  CHECK_INT(json_array_size(json_object_get(root, "none")), 0);
  CHECK(json_is_null(json_object_get(root, "nothing")));
  stop(&w, root);
}

TEST(indented_text_is_the_same_value) {
  written w;
  start(&w);
  w.j.indent = true;
  kn_json_begin(&w.j, NULL);
  kn_json_array(&w.j, "empty");
  kn_json_end(&w.j);
  kn_json_numbers(&w.j, "x", (double[]){1, 2.5}, 2);
  json_t* root = finish(&w);
  CHECK_INT(json_array_size(json_object_get(root, "x")), 2);
  CHECK_INT(json_array_size(json_object_get(root, "empty")), 0);
  stop(&w, root);
}

TEST(names_with_control_characters_and_broken_utf8_are_json) {
  written w;
  start(&w);
  kn_json_begin(&w.j, NULL);
  kn_json_text(&w.j, "bidi", "\xe2\x80\xae\xe2\x81\xa6");
  kn_json_text(&w.j, "c1",
               "\xc2\x9b"
               "31m\x7f");
  kn_json_text(&w.j, "cut", "\xc3\xa9\xc3");
  kn_json_text(&w.j, "bytes", "\xff\xed\xa0\x80");
  kn_json_end(&w.j);
  json_t* root = finish(&w);
  for (size_t i = 0; i < w.length; i++)
    CHECK(w.text[i] != 0x7f && w.text[i] != '\xe2' && w.text[i] != '\xc2');
  CHECK_TEXT(json_string_value(json_object_get(root, "bidi")), "\xe2\x80\xae\xe2\x81\xa6");
  CHECK_TEXT(json_string_value(json_object_get(root, "c1")), "\xc2\x9b"
                                                             "31m\x7f");
  CHECK_TEXT(json_string_value(json_object_get(root, "cut")), "\xc3\xa9\xef\xbf\xbd");
  CHECK_TEXT(json_string_value(json_object_get(root, "bytes")),
             "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  stop(&w, root);
}

TEST(not_finite_numbers_become_null) {
  written w;
  start(&w);
  kn_json_begin(&w.j, NULL);
  kn_json_number(&w.j, "nan", NAN);
  kn_json_number(&w.j, "inf", -INFINITY);
  kn_json_numbers(&w.j, "list", (double[]){NAN, 1}, 2);
  json_t* root = finish(&w);
  CHECK(json_is_null(json_object_get(root, "nan")));
  CHECK(json_is_null(json_object_get(root, "inf")));
  CHECK(json_is_null(json_array_get(json_object_get(root, "list"), 0)));
  stop(&w, root);
}

/* Any bit pattern that is a finite double reads back to the same bits, and no shorter text would do. */
TEST(doubles_round_trip_with_the_fewest_digits) {
  char text[KN_NUMBER_TEXT], shorter[KN_NUMBER_TEXT];
  kn_rng rng = kn_rng_seed(7);
  for (int i = 0; i < 100000; i++) {
    uint64_t bits = kn_rng_next(&rng);
    double v, back;
    memcpy(&v, &bits, sizeof v);
    if (!isfinite(v)) continue;
    back = strtod(kn_number_text(text, v), NULL);
    if (!CHECK_BITS(&back, &v, 1)) return;
  }
  CHECK_TEXT(kn_number_text(text, 0.1), "0.1");
  CHECK_INT(strlen(kn_number_text(text, 0.1)), 3);
  snprintf(shorter, sizeof shorter, "%.16g", 1.0 / 3);
  CHECK_TEXT(kn_number_text(text, 1.0 / 3), shorter);
}

TEST(a_full_disk_is_reported) {
  FILE* full = fopen("/dev/full", "w");
  kn_json j;
  if (!full) SKIP("no /dev/full");
  kn_json_open(&j, full, false);
  kn_json_begin(&j, NULL);
  kn_json_text(&j, "a", "b");
  CHECK(!kn_json_close(&j));
  fclose(full);
}
