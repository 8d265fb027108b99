/* Chromium without a window, asked for pictures of a page: knuckle view --screenshot and --video. */
#ifndef KN_CLI_VIEW_BROWSER_H
#define KN_CLI_VIEW_BROWSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { KN_BROWSER_WORD = 128, KN_BROWSER_WHY = 1024 };

typedef struct kn_browser {
  pid_t child;                   /* 0: none */
  int to, from;                  /* pipes of its debugging protocol */
  long asked;                    /* number of the last question */
  char session[KN_BROWSER_WORD]; /* the page's, in the protocol */
  char* text;                    /* the last message, up to its 0, and what came after it */
  size_t length, used, room;     /* of the last message, of all that came, of the memory */
  char why[KN_BROWSER_WHY];      /* after a failure: a sentence */
} kn_browser;

/* Starts Chromium with a page of a file, and waits until the page says it is ready. */
bool kn_browser_open(kn_browser* browser, const char* file, int width, int height);
/* The page shows frame i: its own window.knuckleFrame(i). */
bool kn_browser_frame(kn_browser* browser, int i);
/* What is seen now, as PNG; the bytes are the browser's, until the next question. */
bool kn_browser_picture(kn_browser* browser, uint8_t** png, size_t* size);
void kn_browser_close(kn_browser* browser);

/* Is a program of this name on the PATH? */
bool kn_program_there(const char* name);

#endif
