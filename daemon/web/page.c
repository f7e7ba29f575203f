// SPDX-License-Identifier: BSD-2-Clause
#include "web/page.h"

#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "exposures/exposures.h"
#include "jread.h"
#include "loader.h"
#include "web/escape.h"

#define REPORT_DEPTH_MAX 16
#define WIDTH 100
#define WIDTH_TITLE 2000	/* so that a title stays on one line */

static void put(FILE *out, const char *s)
{
	escape_html(out, s, strlen(s));
}

static void begin(FILE *out, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"" PAGE_STYLE_PATH "\">\n<title>", out);
	put(out, title);
	fputs("</title>\n</head>\n<body>\n", out);
}

static void end(FILE *out)
{
	fputs("</main>\n</body>\n</html>\n", out);
}

/* ---- one report ---- */

static struct json_object *parse(const struct stored *report)
{
	struct json_tokener *tok = json_tokener_new_ex(REPORT_DEPTH_MAX);
	struct json_object *json = tok ? json_tokener_parse_ex(tok, report->line, (int)report->len) : NULL;

	json_tokener_free(tok);
	return json;
}

static char *explained(struct json_object *json, const struct explain_style *style)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	explain_print_style(f, json, style);
	if (fclose(f) == 0)
		return text;
	free(text);
	return NULL;
}

/* The explanation's first line, up to the time. */
static char *title_of(struct json_object *json, const char *time)
{
	static const struct explain_style style = { .width = WIDTH_TITLE };
	char *text = explained(json, &style), *end_of;

	if (!text)
		return NULL;
	end_of = strstr(text, time);
	if (!end_of)
		end_of = text + strcspn(text, "\n");
	while (end_of > text && (end_of[-1] == ' ' || end_of[-1] == '\n'))
		end_of--;
	*end_of = '\0';
	return text;
}

static void put_explanation(FILE *out, struct json_object *json, bool full)
{
	struct explain_style style = { .width = WIDTH, .full = full };
	char *text = explained(json, &style);

	fputs("<pre>", out);
	put(out, text ? text : "out of memory\n");
	fputs("</pre>\n", out);
	free(text);
}

/* What a glance needs: where, when, how sure. */
static void put_facts(FILE *out, struct json_object *json, const struct stored *report)
{
	const char *sure = jr_string(json, "verdict.confidence"), *comm = jr_string(json, "process.comm");
	const char *device = jr_string(json, "registration.device");
	int64_t pid;

	fputs("<p class=\"facts\"><time datetime=\"", out);
	put(out, report->time);
	fputs("\">", out);
	put(out, report->time);
	fputs("</time>", out);
	if (*sure) {
		fputs(" <b class=\"", out);
		put(out, sure);
		fputs("\">", out);
		put(out, sure);
		fputs("</b>", out);
	}
	if (*comm) {
		fputs(" <span>", out);
		put(out, comm);
		if (jr_int(json, "process.pid", &pid))
			fprintf(out, "[%lld]", (long long)pid);
		fputs("</span>", out);
	}
	if (*device) {
		fputs(" <span>", out);
		put(out, device);
		fputs("</span>", out);
	}
	fputs("</p>\n", out);
}

void page_write_report(FILE *out, const struct stored *report)
{
	struct json_object *json = parse(report);
	char *title = json ? title_of(json, report->time) : NULL;

	fputs("<article>\n<h3><a href=\"/reports/", out);
	put(out, report->id);
	fputs("\">", out);
	put(out, title ? title : report->kind);
	fputs("</a></h3>\n", out);
	if (json) {
		put_facts(out, json, report);
		if (*jr_string(json, "verdict.summary")) {
			fputs("<p>", out);
			put(out, jr_string(json, "verdict.summary"));
			fputs("</p>\n", out);
		}
		fputs("<details><summary>explanation</summary>\n", out);
		put_explanation(out, json, false);
		fputs("</details>\n", out);
	}
	fputs("</article>\n", out);
	free(title);
	json_object_put(json);
}

void page_write_one(FILE *out, const struct stored *report)
{
	struct json_object *json = parse(report);
	char *title = json ? title_of(json, report->time) : NULL;

	begin(out, title ? title : report->kind);
	fputs("<header><p><a href=\"/\">pinwhy</a></p>\n<h1>", out);
	put(out, title ? title : report->kind);
	fputs("</h1>\n", out);
	if (json)
		put_facts(out, json, report);
	fputs("</header>\n<main>\n", out);
	if (json)
		put_explanation(out, json, true);
	fputs("<p><a href=\"/reports/", out);
	put(out, report->id);
	fputs("?format=json\">the report as JSON</a></p>\n", out);
	end(out);
	free(title);
	json_object_put(json);
}

/* ---- the status page ---- */

void page_write_head(FILE *out, const struct http_status *s, uint64_t reports_held)
{
	begin(out, s->node);
	fputs("<header>\n<h1>pinwhy <span>", out);
	put(out, s->node);
	fputs("</span></h1>\n<p class=\"facts\">", out);
	if (s->not_ready) {
		fputs("<b class=\"bad\">not ready: ", out);
		put(out, s->not_ready);
		fputs("</b>", out);
	} else {
		fprintf(out, "<b class=\"good\">%s</b>", s->replaying ? "serving a recording" : "watching");
	}
	fputs(" <span>Linux ", out);
	put(out, s->kernel);
	fputs("</span> <span>pinwhy ", out);
	put(out, s->version);
	fprintf(out, "</span> <span>%llu registrations, %llu of them failed</span></p>\n"
		"<nav><a href=\"#failures\">failures</a> <a href=\"#hazards\">hazards</a> <a href=\"#exposures\">exposures</a> "
		"<a href=\"#hooks\">hooks</a> <a href=\"/reports\">JSON</a> <a href=\"/metrics\">metrics</a></nav>\n"
		"</header>\n<main>\n<section id=\"failures\">\n<h2>What failed here lately, and why</h2>\n"
		"<p class=\"note\">Newest first; the last %llu reports are kept here, the reports file has them all.</p>\n",
		(unsigned long long)s->registrations, (unsigned long long)s->failures, (unsigned long long)reports_held);
}

void page_write_none(FILE *out, const char *sentence)
{
	fputs("<p class=\"note\">", out);
	put(out, sentence);
	fputs("</p>\n", out);
}

void page_write_hazards(FILE *out)
{
	fputs("</section>\n<section id=\"hazards\">\n<h2>Hazards</h2>\n"
	      "<p class=\"note\">Pins that will make later registrations fail.</p>\n", out);
}

static void put_list(FILE *out, const char *what, const char (*items)[EXPOSURE_TEXT], uint32_t n)
{
	if (!n)
		return;
	fprintf(out, "<p class=\"note\">%s</p>\n<ul>\n", what);
	for (uint32_t i = 0; i < n; i++) {
		fputs("<li>", out);
		put(out, items[i]);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

static uint32_t put_exposure(FILE *out, const struct exposure *e)
{
	if (e->severity == SEVERITY_NONE)
		return 0;
	fputs("<article>\n<h3>", out);
	put(out, e->id);
	fprintf(out, " <b class=\"%s\">%s</b></h3>\n<p>", severity_name(e->severity), severity_name(e->severity));
	put(out, e->what);
	fputs("</p>\n<details><summary>evidence and remedies</summary>\n", out);
	put_list(out, "seen", e->evidence, e->nevidence);
	put_list(out, "what helps", e->remedies, e->nremedies);
	fputs("</details>\n</article>\n", out);
	return 1;
}

static void put_exposures(FILE *out, const struct exposures *e, bool replaying)
{
	uint32_t n = 0;

	fputs("</section>\n<section id=\"exposures\">\n<h2>Exposures</h2>\n"
	      "<p class=\"note\">What makes failures possible on this node.</p>\n", out);
	if (!e) {
		page_write_none(out, replaying ? "Not looked at: the reports come from a recording." : "They are being read.");
		return;
	}
	for (uint32_t i = 0; i < EXPOSURES_MAX; i++)
		n += put_exposure(out, &e->rows[i]);
	if (!n)
		page_write_none(out, "None was found.");
}

static void put_hook(FILE *out, const struct slot_status *s)
{
	bool failed = s->state == SLOT_LOAD_FAILED || s->state == SLOT_ATTACH_FAILED;

	fputs("<tr><td>", out);
	put(out, s->name);
	fprintf(out, "</td><td class=\"%s\">", failed ? "bad" : s->state >= SLOT_ATTACHED ? "good" : "");
	put(out, slot_state_name(s->state));
	fputs("</td><td>", out);
	put(out, s->variant);
	fputs("</td><td>", out);
	put(out, s->state >= SLOT_ATTACHED ? s->target : s->reason);
	fputs("</td></tr>\n", out);
}

void page_write_tail(FILE *out, const struct http_status *s)
{
	put_exposures(out, s->exposures, s->replaying);
	fputs("</section>\n<section id=\"hooks\">\n<h2>Hooks</h2>\n", out);
	if (!s->nslots)
		page_write_none(out, "None: the reports come from a recording.");
	else
		fputs("<div class=\"wide\"><table>\n<thead><tr><th>hook</th><th>state</th><th>by</th><th>where, or why not</th></tr></thead>\n<tbody>\n", out);
	for (uint32_t i = 0; i < s->nslots; i++)
		put_hook(out, &s->slots[i]);
	fputs(s->nslots ? "</tbody>\n</table></div>\n</section>\n" : "</section>\n", out);
	end(out);
}
