/* The settings of a recording: a flat object of texts and nothing else. */
#include "record/settings_text.h"

#include "test.h"

static const char* parse(kn_hoard* pool, const char* text) {
  return kn_settings_parse(pool, (kn_view){(const uint8_t*)text, strlen(text), false});
}

TEST(names_and_texts) {
  kn_hoard pool = {0};
  const char* s =
      parse(&pool, " {\"dt\":\"0.001\" ,\n\"law\" : \"poisson\",\"empty\":\"\",\"every\":\"1\"} ");
  if (!CHECK(s != NULL)) return;
  CHECK_TEXT(kn_settings_find(s, "dt"), "0.001");
  CHECK_TEXT(kn_settings_find(s, "law"), "poisson");
  CHECK_INT(strlen(kn_settings_find(s, "empty")), 0);
  CHECK_TEXT(kn_settings_find(s, "every"), "1");
  CHECK(kn_settings_find(s, "la") == NULL && kn_settings_find(s, "poisson") == NULL);
  CHECK(kn_settings_find(parse(&pool, "{}"), "dt") == NULL);
  CHECK(kn_settings_find(NULL, "dt") == NULL);
  kn_hoard_free(&pool);
}

TEST(anything_else_is_refused) {
  static const char* const bad[] = {"",
                                    "{",
                                    "[]",
                                    "{\"a\":1}",
                                    "{\"a\":\"1\",}",
                                    "{\"a\":\"1\"",
                                    "{\"a\" \"1\"}",
                                    "{\"\":\"1\"}",
                                    "{\"a\":\"\\u0041\"}",
                                    "{\"a\":\"1\"} x",
                                    "{\"a\":\"1\n\"}",
                                    "{\"a\":\"1",
                                    "{a:\"1\"}"};
  kn_hoard pool = {0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!CHECK(parse(&pool, bad[i]) == NULL)) printf("  taken: %s\n", bad[i]);
  kn_hoard_free(&pool);
}
