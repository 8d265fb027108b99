/* A picture for a file: SVG as it is, or PNG made of it by rsvg-convert (docs/decisions/0009). Whoever draws
   writes SVG to `svg` and does not know which. */
#ifndef KN_OUTPUT_IMAGE_H
#define KN_OUTPUT_IMAGE_H

#include "output/file.h"

#ifdef __cplusplus
extern "C" {
#endif

#define KN_IMAGE_ENDINGS "svg|png"

typedef struct kn_image {
  FILE* svg;
  kn_file file; /* file.why: the sentence after a failure */
  char* text;   /* SVG to be converted */
  size_t size;
  bool png;
} kn_image;

bool kn_image_open(kn_image* p, const char* path);
bool kn_image_close(kn_image* p, bool good);

#ifdef __cplusplus
}
#endif
#endif
