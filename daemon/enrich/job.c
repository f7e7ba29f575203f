// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which job of which scheduler a process belongs to. The environment may hold secrets: it is streamed
 * through a small buffer, and only values of the variables in this table are ever kept. What the
 * process says there is its own claim, and it may have written over it since.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "enrich/enrich.h"
#include "enrich/read.h"
#include "text.h"

#define VALUE_MAX 64	/* longer ones are left out: half an id names another job */
#define ENVIRON_MAX (4U << 20)
#define CHUNK 4096

enum kept { KEPT_ID, KEPT_RANK, KEPT_COMMUNICATOR, KEPT_MAX };

/*
 * Of the variables for one fact that are set, the first row wins. A rank is the innermost launcher's,
 * an id the outermost scheduler's, which also names the scheduler. A communicator is where ranks meet:
 * NCCL_COMM_ID (address:port that NCCL's root listens on), else PMIx's name space.
 */
static const struct {
	const char *variable, *scheduler;
	enum kept kept;
} rows[] = {
	{ "SLURM_JOB_ID", "slurm", KEPT_ID },
	{ "PBS_JOBID", "pbs", KEPT_ID },
	{ "LSB_JOBID", "lsf", KEPT_ID },
	{ "TORCHELASTIC_RUN_ID", "torchrun", KEPT_ID },
	{ "RANK", "torchrun", KEPT_RANK },
	{ "OMPI_COMM_WORLD_RANK", "openmpi", KEPT_RANK },
	{ "PMIX_RANK", "pmix", KEPT_RANK },
	{ "SLURM_PROCID", "slurm", KEPT_RANK },
	{ "LOCAL_RANK", "torchrun", KEPT_RANK },
	{ "NCCL_COMM_ID", NULL, KEPT_COMMUNICATOR },
	{ "PMIX_NAMESPACE", NULL, KEPT_COMMUNICATOR },
};
#define NROWS (sizeof(rows) / sizeof(rows[0]))
#define NAME_MAX_LEN 24	/* of the longest name, with room */

struct job {
	bool any[KEPT_MAX];
	size_t row[KEPT_MAX];	/* the row kept so far */
	char value[KEPT_MAX][VALUE_MAX];
};

/* One whole "NAME=value". */
static void take(struct job *job, const char *entry)
{
	for (size_t i = 0; i < NROWS; i++) {
		size_t len = strlen(rows[i].variable);
		enum kept k = rows[i].kept;

		if (strncmp(entry, rows[i].variable, len) != 0 || entry[len] != '=' || !entry[len + 1])
			continue;
		/* Of two of one name getenv() finds the first. */
		if ((job->any[k] && job->row[k] <= i) || strlen(entry + len + 1) >= VALUE_MAX)
			return;
		job->any[k] = true;
		job->row[k] = i;
		strcpy(job->value[k], entry + len + 1);
		return;
	}
}

static int stream(FILE *in, struct job *job)
{
	char chunk[CHUNK], entry[NAME_MAX_LEN + VALUE_MAX + 2];
	size_t len = 0, total = 0, n;

	errno = 0;
	while ((n = fread(chunk, 1, sizeof(chunk), in)) > 0 && total < ENVIRON_MAX) {
		total += n;
		for (size_t i = 0; i < n; i++) {
			if (len < sizeof(entry))
				entry[len] = chunk[i];
			if (chunk[i]) {
				len += len < sizeof(entry);
				continue;
			}
			if (len < sizeof(entry))
				take(job, entry);
			len = 0;
		}
	}
	/* What did not fit in the bound is not looked at; what was found so far stands. */
	return ferror(in) && errno ? -errno : 0;
}

static int put(const struct job *job, enum kept k, const char *prefix, char *field, size_t size)
{
	struct text t;

	if (!job->any[k])
		return FACT_NONE;
	text_init(&t, field, size);
	text_add(&t, "%s", prefix);
	text_escape(&t, job->value[k]);
	return t.cut ? -ENAMETOOLONG : 0;
}

static int put_scheduler(const struct job *job, struct facts *f)
{
	enum kept k = job->any[KEPT_ID] ? KEPT_ID : KEPT_RANK;

	if (!job->any[k])
		return FACT_NONE;
	strcpy(f->job_scheduler, rows[job->row[k]].scheduler);
	return 0;
}

void enrich_job(const struct enrich *e, const struct facts_request *req, int proc_fd, struct facts *f)
{
	struct job job = { 0 };
	const char *prefix;
	FILE *in;
	int err;

	(void)e;
	(void)req;
	err = read_open_at(proc_fd, "environ", &in);
	if (!err) {
		err = stream(in, &job);
		fclose(in);
	}
	/* A rank within one node only is not the rank in the job. */
	prefix = job.any[KEPT_RANK] && strcmp(rows[job.row[KEPT_RANK]].variable, "LOCAL_RANK") == 0 ?
		 "local " : "";
	ENRICH_FAIL(f, job_scheduler, err ? err : put_scheduler(&job, f));
	ENRICH_FAIL(f, job_id, err ? err : put(&job, KEPT_ID, "", f->job_id, sizeof(f->job_id)));
	ENRICH_FAIL(f, job_rank, err ? err : put(&job, KEPT_RANK, prefix, f->job_rank, sizeof(f->job_rank)));
	ENRICH_FAIL(f, communicator,
		    err ? err : put(&job, KEPT_COMMUNICATOR, "", f->communicator, sizeof(f->communicator)));
}
