/* knuckle-mpi: the same program with ranks for `knuckle sweep`, in a binary of its own so that nobody else needs MPI.
   Under mpirun `knuckle sweep` becomes it by itself (sweep.c). Rank 0 keeps the journal; the others send the rows they
   have made and receive the next cases, a message each way. If a rank dies, mpirun ends them all; what was sent is in
   the journal, and the same command goes on from there. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "sweep/plan.h"

enum { ROWS = 1, CASES = 2 };

static struct {
  char* bytes;
  size_t room;
} inbox;

static void share(void* bytes, size_t size) { MPI_Bcast(bytes, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD); }

static bool receive(int* from, const char** lines, size_t* bytes) {
  MPI_Status status;
  int ready, size;
  MPI_Iprobe(MPI_ANY_SOURCE, ROWS, MPI_COMM_WORLD, &ready, &status);
  if (!ready) return false;
  MPI_Get_count(&status, MPI_BYTE, &size);
  if ((size_t)size > inbox.room) {
    char* more = realloc(inbox.bytes, (size_t)size);
    if (!more) return false;
    inbox.bytes = more;
    inbox.room = (size_t)size;
  }
  *from = status.MPI_SOURCE;
  *lines = inbox.bytes;
  *bytes = (size_t)size;
  MPI_Recv(inbox.bytes, size, MPI_BYTE, *from, ROWS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return true;
}

static void answer(int to, const int64_t* list, int64_t count) {
  MPI_Send(list, (int)count, MPI_INT64_T, to, CASES, MPI_COMM_WORLD);
}

static int64_t ask(int64_t* list, int64_t room, const char* lines, size_t bytes) {
  MPI_Status status;
  int count;
  MPI_Send(lines, (int)bytes, MPI_BYTE, 0, ROWS, MPI_COMM_WORLD);
  MPI_Recv(list, (int)room, MPI_INT64_T, 0, CASES, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT64_T, &count);
  return count;
}

int main(int argc, char** argv) {
  static kn_ranks ranks = {.share = share, .receive = receive, .answer = answer, .ask = ask};
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks.size);
  kn_sweep_ranks = &ranks;
  int code = kn_main(argc, argv);
  MPI_Finalize();
  free(inbox.bytes);
  return code;
}
