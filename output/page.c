#include "output/page.h"

#include <math.h>
#include <string.h>

#include "output/json.h"

/* The page around the data (page.html), put into the object file as it is. */
__asm__(".section .rodata\n"
        "kn_page_template:\n"
        ".incbin \"" KN_PAGE_TEMPLATE "\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char kn_page_template[];

static void write_base64(FILE* f, const void* data, size_t size) {
  static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char* b = (const unsigned char*)data;
  fputs("\"", f);
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i;
    unsigned v = (unsigned)b[i] << 16 | (left > 1 ? (unsigned)b[i + 1] << 8 : 0) | (left > 2 ? b[i + 2] : 0);
    fputc(digit[v >> 18], f);
    fputc(digit[v >> 12 & 63], f);
    fputc(left > 1 ? digit[v >> 6 & 63] : '=', f);
    fputc(left > 2 ? digit[v & 63] : '=', f);
  }
  fputs("\"", f);
}

static void write_shape(kn_json* j, const kn_page_shape* s) {
  kn_json_begin(j, NULL);
  kn_json_text(j, "type", s->type);
  kn_json_numbers(j, "size", s->size, 3);
  kn_json_numbers(j, "rgb", s->rgb, 3);
  if (s->npoint) {
    kn_json_array(j, "points");
    for (size_t i = 0; i < s->npoint; i++) kn_json_numbers(j, NULL, s->points + 3 * i, 3);
    kn_json_end(j);
    kn_json_array(j, "faces");
    for (size_t i = 0; i < s->ntriangle; i++) kn_json_ints(j, NULL, s->triangles + 3 * i, 3);
    kn_json_end(j);
  }
  kn_json_end(j);
}

/* Of the forces, or of the blows. */
static double longest(const float* contacts, size_t n, bool blows) {
  double most = 0;
  for (size_t i = 0; i < n; i++) {
    const float* v = contacts + KN_PAGE_CONTACT * i + 3;
    if ((v[3] == 1.0f) != blows) continue;
    most = fmax(most, sqrt((double)v[0] * v[0] + (double)v[1] * v[1] + (double)v[2] * v[2]));
  }
  return most;
}

static void write_data(FILE* f, const kn_page* p) {
  kn_json j;
  size_t contacts = p->contact_start[p->frame_count];
  double force = longest(p->contacts, contacts, false), blow = longest(p->contacts, contacts, true);
  kn_json_open(&j, f, false);
  kn_json_begin(&j, NULL);
  kn_json_text(&j, "title", p->title);
  kn_json_text(&j, "subtitle", p->subtitle);
  kn_json_text(&j, "command", p->command);
  kn_json_number(&j, "yaw", p->yaw);
  kn_json_number(&j, "pitch", p->pitch);
  kn_json_number(&j, "longest_force", force);
  kn_json_number(&j, "longest_blow", blow);
  kn_json_array(&j, "facts");
  for (size_t i = 0; i < p->fact_count; i++) {
    kn_json_array(&j, NULL);
    kn_json_text(&j, NULL, p->facts[i].name);
    kn_json_text(&j, NULL, p->facts[i].value);
    kn_json_end(&j);
  }
  kn_json_end(&j);
  kn_json_array(&j, "shapes");
  for (size_t i = 0; i < p->shape_count; i++) write_shape(&j, &p->shapes[i]);
  kn_json_end(&j);
  kn_json_numbers(&j, "times", p->times, p->frame_count);
  kn_json_array(&j, "contact_start");
  for (size_t i = 0; i <= p->frame_count; i++) kn_json_int(&j, NULL, (long long)p->contact_start[i]);
  kn_json_end(&j);
  fputs(",\"frames\":", f);
  write_base64(f, p->frames, p->frame_count * p->shape_count * 7 * sizeof(float));
  fputs(",\"contacts\":", f);
  write_base64(f, p->contacts, contacts * KN_PAGE_CONTACT * sizeof(float));
  kn_json_close(&j);
}

bool kn_page_write(FILE* f, const kn_page* p) {
  const char *plots = strstr(kn_page_template, "KN_PLOTS"), *data = strstr(kn_page_template, "KN_DATA");
  fwrite(kn_page_template, 1, (size_t)(plots - kn_page_template), f);
  if (p->plot_count) kn_plot_write(f, p->plots, p->plot_count, 2, 540, 320);
  fwrite(plots + 8, 1, (size_t)(data - plots - 8), f);
  write_data(f, p);
  fputs(data + 7, f);
  return !ferror(f);
}
