/* Files that appear whole or not at all: written beside their final name and renamed at the end, so that a
   full disk, an error or a kill never leaves half a file under the name a user asked for, and never destroys
   what was there. Only plain files are written: a FIFO, a device or a folder is refused at once. */
#ifndef KN_OUTPUT_FILE_H
#define KN_OUTPUT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { KN_FILE_PATH = 4096 };

typedef struct kn_file {
  FILE* stream; /* NULL: not open */
  char path[KN_FILE_PATH], part[KN_FILE_PATH];
  char why[KN_FILE_PATH + 256]; /* after a failure: a sentence that begins with the path */
} kn_file;

/* Opens a part file beside the path, in a folder that exists. */
bool kn_file_open(kn_file* f, const char* path);
/* Flushes, closes, renames. `good` false: the contents could not be made; the part file is removed. */
bool kn_file_close(kn_file* f, bool good);
/* The same for a writer that wants a name instead of a stream (HDF5): the part file's name is f->part. */
bool kn_file_reserve(kn_file* f, const char* path);
bool kn_file_commit(kn_file* f, bool good);

/* Is the path free or a plain file that can be replaced? Otherwise the reason, a sentence, in why. */
bool kn_file_plain(const char* path, char* why, size_t room);
/* Are both the same file (also by other names or links)? */
bool kn_file_same(const char* a, const char* b);
/* The folders above the path (`folder` true: and the path itself). */
bool kn_make_folders(const char* path, bool folder);

/* "svg" of "a/b.svg", "" without one; lower case, at most 7 letters. */
const char* kn_file_ending(char ending[8], const char* path);
/* Is the path's ending one of "csv|json|h5"? */
bool kn_file_ends(const char* path, const char* endings);

#ifdef __cplusplus
}
#endif
#endif
