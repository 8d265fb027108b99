/* Any bytes as an LCP file in each of the three formats: a problem that passes the check, or a refusal with a
 * message. */
#include <stdlib.h>
#include <string.h>

#include "knuckle/lcp_file.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const names[3] = {"x.json", "x.dat", "x.lcp"};
  for (int k = 0; k < 3; k++) {
    kn_lcp_file f;
    kn_status status = kn_lcp_file_parse(&f, names[k], data, size);
    if (status != KN_OK) {
      if (f.memory || strncmp(kn_last_error(), names[k], strlen(names[k])) != 0) abort();
      continue;
    }
    if (kn_lcp_check(&f.lcp) != KN_OK) abort();
    kn_lcp_file_free(&f);
  }
  return 0;
}
