/* SPDX-License-Identifier: BSD-2-Clause */
/* From a diagnosed incident to the JSON of its report (schemas/report.schema.json). */
#ifndef PINWHY_REPORT_H
#define PINWHY_REPORT_H

#include "diagnose.h"
#include "storm.h"
#include "text.h"

#define REPORT_SCHEMA 1
#define KIND_FAILED "registration_failed"
#define KIND_STUCK "registration_stuck"
#define KIND_COMPLETED "registration_completed"	/* it had been reported as stuck and ended well */
#define KIND_STALE "registration_stale"	/* it was made, and its memory was replaced under it */
#define KIND_HAZARD "hazard"	/* a first pin that will make registrations fail */
#define KIND_SUMMARY "storm_summary"

struct jbuild;
struct json_object;

struct report_input {
	const char *kind;
	const char *id;
	const struct identity *identity;
	const struct incident *in;
	const struct diagnosis *diagnosis;	/* unused for KIND_COMPLETED */
	const struct loss *loss;		/* NULL: not known yet */
	const char *first_report_id;		/* "" = none */
};

/* Wall time of something that happened at `mono_ns`. */
uint64_t report_real_ns(struct clock_pair seen, uint64_t mono_ns);
/* UUIDv7 from the wall time and a hash of what identifies the report. */
void report_make_id(char ret_id[REPORT_ID_LEN], const struct identity *id, const char *kind,
		    uint64_t real_ns, uint64_t span_id, uint32_t tgid, uint64_t sequence);
/* -ENOMEM. */
int report_build(const struct report_input *r, struct json_object **ret_json);
int report_build_summary(const struct storm_summary *summary, const char *id, const struct identity *identity,
			 const struct loss *loss, struct json_object **ret_json);

/* Sections, in sections.c, sections_kernel.c and sections_facts.c: each puts its object into the report when it applies. */
struct section {
	struct jbuild *b;
	struct json_object *report;
	struct json_object *missing;	/* missing_evidence[] */
	const struct report_input *r;
};
void section_missing(struct section *s, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void section_process(struct section *s);
void section_registration(struct section *s);
void section_damage(struct section *s);
void section_chain(struct section *s);
void section_pin(struct section *s);
/* Flags of a pin, as number and names. */
void section_gup_flags(struct section *s, struct json_object *pin, uint32_t flags);
void section_migration(struct section *s);
void section_pages(struct section *s);
void section_memlock(struct section *s);
void section_facts(struct section *s);
void section_mapping(struct section *s);
void section_arguments(struct section *s);
void section_dmabuf(struct section *s);
void section_export(struct section *s);
void section_peer(struct section *s);
void section_device(struct section *s);
void section_fate(struct section *s);
void section_provider(struct section *s);

/* A string fact, or the entry in missing_evidence that says why not. */
void section_fact_string(struct section *s, struct json_object *object, const char *key, const char *what,
			 enum fact_id fact);
/* What user space read about the process: its job, the libraries in it. */
void section_process_facts(struct section *s, struct json_object *process);
void section_process_stack(struct section *s, struct json_object *process);

#endif
