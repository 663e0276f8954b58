/* workers.c: threads that step runs in slices (modebox.h). One lock; it is never held while a guest runs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "modebox.h"

enum {
  SLICE_NS = 2000000,
  MOST_THREADS = 16,
};

enum { IDLE, QUEUED, RUNNING, THROUGH }; /* mb_job.state */

typedef struct job_list {
  mb_job *first, **end;
} job_list;

struct mb_completions {
  int file;
  job_list through;
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, idle; /* there may be something to do; a slice is over */
  job_list queue;
  pthread_t threads[MOST_THREADS];
  unsigned thread_count, running, under_way;
  bool parked, stopping;
} workers = {
  .lock = PTHREAD_MUTEX_INITIALIZER,
  .work = PTHREAD_COND_INITIALIZER,
  .idle = PTHREAD_COND_INITIALIZER,
};

/* ---- lists */

static void append(job_list *list, mb_job *job, int state) {
  job->next = NULL;
  job->state = state;
  if (!list->first)
    list->end = &list->first;
  *list->end = job;
  list->end = &job->next;
}

static mb_job *pop(job_list *list) {
  mb_job *job = list->first;
  if (job)
    list->first = job->next;
  return job;
}

static void unlink_job(job_list *list, const mb_job *job) {
  mb_job **link = &list->first;
  while (*link != job)
    link = &(*link)->next;
  *link = job->next;
  if (!*link)
    list->end = link;
}

/* ---- threads */

static void leave_workers(mb_job *job) {
  job->state = IDLE;
  workers.under_way--;
}

/* With the lock held: what becomes of a job whose slice is over. */
static void put_back(mb_job *job) {
  if (job->withdrawn) {
    leave_workers(job);
  } else if (job->status == MB_YIELDED) {
    append(&workers.queue, job, QUEUED);
    pthread_cond_signal(&workers.work);
  } else {
    append(&job->completions->through, job, THROUGH);
    eventfd_write(job->completions->file, 1);
  }
}

static void *work(void *unused) {
  (void)unused;
  pthread_mutex_lock(&workers.lock);
  while (!workers.stopping) {
    mb_job *job = workers.parked ? NULL : pop(&workers.queue);
    if (!job) {
      pthread_cond_wait(&workers.work, &workers.lock);
      continue;
    }
    job->state = RUNNING;
    workers.running++;
    pthread_mutex_unlock(&workers.lock);
    mb_status status = mb_run_step(job->run, SLICE_NS);
    pthread_mutex_lock(&workers.lock);
    job->status = status;
    workers.running--;
    put_back(job);
    pthread_cond_broadcast(&workers.idle);
  }
  pthread_mutex_unlock(&workers.lock);
  return NULL;
}

/* Before a fork: no slice is under way and none begins, and the lock is held. */
static void park(void) {
  pthread_mutex_lock(&workers.lock);
  workers.parked = true;
  while (workers.running)
    pthread_cond_wait(&workers.idle, &workers.lock);
}

static void unpark(void) {
  workers.parked = false;
  pthread_cond_broadcast(&workers.work);
  pthread_mutex_unlock(&workers.lock);
}

/* The threads are the parent's, and so are the jobs: the child's copies of them are nobody's any more. */
static void unpark_child(void) {
  mb_job *job;
  while ((job = pop(&workers.queue)))
    leave_workers(job);
  workers.thread_count = 0;
  workers.parked = false;
  pthread_mutex_init(&workers.lock, NULL);
  pthread_cond_init(&workers.work, NULL);
  pthread_cond_init(&workers.idle, NULL);
}

static void watch_forks(void) {
  pthread_atfork(park, unpark, unpark_child);
}

static unsigned wanted_threads(void) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS : (unsigned)processors;
}

/* Signals are for the embedder's threads; faults of guest code come to whoever runs it all the same. */
static bool start_thread(pthread_t *out) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool ok = !pthread_create(out, NULL, work, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok;
}

static bool start_threads(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  for (unsigned wanted = wanted_threads(); workers.thread_count < wanted; workers.thread_count++)
    if (!start_thread(&workers.threads[workers.thread_count]))
      break;
  return workers.thread_count > 0;
}

void mb_workers_stop(void) {
  pthread_mutex_lock(&workers.lock);
  unsigned count = workers.thread_count;
  workers.stopping = true;
  workers.thread_count = 0;
  pthread_cond_broadcast(&workers.work);
  pthread_mutex_unlock(&workers.lock);
  for (unsigned i = 0; i < count; i++)
    pthread_join(workers.threads[i], NULL);
  workers.stopping = false;
}

/* ---- jobs */

mb_err mb_completions_new(mb_completions **out) {
  mb_completions *completions = calloc(1, sizeof *completions);
  if (!completions)
    return MB_ERR_NO_MEMORY;
  completions->file = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (completions->file < 0) {
    free(completions);
    return MB_ERR_SYSTEM;
  }
  *out = completions;
  return MB_OK;
}

void mb_completions_free(mb_completions *completions) {
  close(completions->file);
  free(completions);
}

int mb_completions_file(const mb_completions *completions) {
  return completions->file;
}

mb_err mb_job_submit(mb_job *job) {
  pthread_mutex_lock(&workers.lock);
  bool ok = start_threads();
  if (ok) {
    job->withdrawn = false;
    append(&workers.queue, job, QUEUED);
    workers.under_way++;
    pthread_cond_signal(&workers.work);
  }
  pthread_mutex_unlock(&workers.lock);
  return ok ? MB_OK : MB_ERR_SYSTEM;
}

mb_job *mb_job_take(mb_completions *completions) {
  pthread_mutex_lock(&workers.lock);
  mb_job *job = pop(&completions->through);
  if (job)
    leave_workers(job);
  if (!completions->through.first)
    eventfd_read(completions->file, &(eventfd_t){ 0 });
  pthread_mutex_unlock(&workers.lock);
  return job;
}

void mb_job_withdraw(mb_job *job) {
  pthread_mutex_lock(&workers.lock);
  job->withdrawn = true;
  while (job->state == RUNNING)
    pthread_cond_wait(&workers.idle, &workers.lock);
  if (job->state != IDLE) {
    unlink_job(job->state == QUEUED ? &workers.queue : &job->completions->through, job);
    leave_workers(job);
  }
  pthread_mutex_unlock(&workers.lock);
}

unsigned mb_jobs_under_way(void) {
  pthread_mutex_lock(&workers.lock);
  unsigned count = workers.under_way;
  pthread_mutex_unlock(&workers.lock);
  return count;
}
