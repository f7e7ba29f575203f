// SPDX-License-Identifier: BSD-2-Clause
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <json-c/json_object.h>
#include <json-c/json_tokener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "jbuild.h"
#include "jread.h"
#include "sinks/ops.h"
#include "sinks/otlp_send.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

#define ANSWER_MAX 4096
#define NS_PER_S 1000000000ULL
#define RETRY_MAX_S 300

/* The one with GnuTLS, which serves HTTP here as well, before the one with OpenSSL. */
static const char *const libraries[] = { "libcurl-gnutls.so.4", "libcurl.so.4" };

struct otlp_sender {
	void *library;
	CURL *curl;
	typeof(curl_easy_init) *init;
	typeof(curl_easy_setopt) *setopt;
	typeof(curl_easy_perform) *perform;
	typeof(curl_easy_getinfo) *getinfo;
	typeof(curl_easy_strerror) *strerror;
	typeof(curl_easy_reset) *reset;
	typeof(curl_slist_append) *append;
	typeof(curl_slist_free_all) *free_all;
	char answer[ANSWER_MAX];
	size_t answer_len;
};

static void *load(void)
{
	void *library = NULL;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && !library; i++)
		library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

/* Loaded and let go of again, so that what is missing is said at the start. */
const char *otlp_library_missing(void)
{
	static char why[256];
	void *library;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
		if (library) {
			dlclose(library);
			return NULL;
		}
	}
	snprintf(why, sizeof(why), "%s", dlerror());
	return why;
}

static struct otlp_sender *sender_new(void)
{
	struct otlp_sender *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->library = load();
	if (s->library) {
		s->init = dlsym(s->library, "curl_easy_init");
		s->setopt = dlsym(s->library, "curl_easy_setopt");
		s->perform = dlsym(s->library, "curl_easy_perform");
		s->getinfo = dlsym(s->library, "curl_easy_getinfo");
		s->strerror = dlsym(s->library, "curl_easy_strerror");
		s->reset = dlsym(s->library, "curl_easy_reset");
		s->append = dlsym(s->library, "curl_slist_append");
		s->free_all = dlsym(s->library, "curl_slist_free_all");
	}
	if (s->init && s->setopt && s->perform && s->getinfo && s->strerror && s->reset && s->append && s->free_all)
		s->curl = s->init();
	if (s->curl)
		return s;
	free(s);
	return NULL;
}

static void add_resource(struct jbuild *b, struct json_object *attributes, const char *key, const char *text)
{
	struct json_object *a = jb_object(b), *value = jb_object(b);

	jb_string(b, a, "key", key);
	jb_string(b, value, "stringValue", text);
	jb_put(b, a, "value", value);
	jb_append(b, attributes, a);
}

/* The records stand in it as they came; what is around them is the same for all. */
static char *body_of(const struct batch *b, const struct otlp_settings *s, size_t *ret_len)
{
	struct jbuild jb = { 0 };
	struct json_object *attributes = jb_array(&jb);
	char *body = NULL;
	size_t pos = 0;
	FILE *f = open_memstream(&body, ret_len);

	add_resource(&jb, attributes, "service.name", "pinwhy");
	add_resource(&jb, attributes, "service.version", PINWHY_VERSION);
	if (*s->node)
		add_resource(&jb, attributes, "host.name", s->node);
	if (f && !jb.failed) {
		fprintf(f, "{\"resourceLogs\":[{\"resource\":{\"attributes\":%s},\"scopeLogs\":[{\"scope\":{\"name\":\"pinwhy\"},"
			   "\"logRecords\":[",
			json_object_to_json_string_ext(attributes, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
		for (uint32_t i = 0; i < b->count; i++) {
			fprintf(f, "%s%.*s", i ? "," : "", (int)b->length[i], b->data + pos);
			pos += b->length[i];
		}
		fputs("]}]}]}", f);
	}
	json_object_put(attributes);
	if (!f || fclose(f) != 0 || jb.failed) {
		free(body);
		return NULL;
	}
	return body;
}

/* In place of `*body`; left as it is when there is no memory. */
static bool compress_body(char **body, size_t *len)
{
	z_stream z = { 0 };
	char *packed;
	uLong bound;
	bool done;

	/* 16: with gzip's header. */
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return false;
	bound = deflateBound(&z, *len);
	packed = malloc(bound);
	z.next_in = (Bytef *)*body;
	z.avail_in = (uInt)*len;
	z.next_out = (Bytef *)packed;
	z.avail_out = (uInt)bound;
	done = packed && deflate(&z, Z_FINISH) == Z_STREAM_END;
	if (done) {
		free(*body);
		*body = packed;
		*len = z.total_out;
	} else {
		free(packed);
	}
	deflateEnd(&z);
	return done;
}

static size_t on_answer(char *data, size_t size, size_t count, void *ctx)
{
	struct otlp_sender *s = ctx;
	size_t n = size * count, room = sizeof(s->answer) - 1 - s->answer_len;

	memcpy(s->answer + s->answer_len, data, n < room ? n : room);
	s->answer_len += n < room ? n : room;
	s->answer[s->answer_len] = '\0';
	return n;
}

/* A collector that takes some: {"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"..."}} */
static void count_rejected(const char *answer, const struct batch *b, struct outcome *ret)
{
	struct json_object *o = json_tokener_parse(answer);
	struct json_object *n = jr_get(o, "partialSuccess.rejectedLogRecords", json_type_string);
	int64_t rejected = 0;

	if (!n)
		n = jr_get(o, "partialSuccess.rejectedLogRecords", json_type_int);
	if (n)
		rejected = json_object_get_int64(n);
	if (rejected > 0) {
		ret->refused = rejected < b->count ? (uint32_t)rejected : b->count;
		ret->err = EBADMSG;
		snprintf(ret->why, sizeof(ret->why), "the collector rejected %u records: %.100s", ret->refused,
			 jr_string(o, "partialSuccess.errorMessage"));
	}
	json_object_put(o);
}

/* Which answers ask for another try is laid down in the specification of OTLP/HTTP. */
static void judge(struct otlp_sender *s, const struct batch *b, struct outcome *ret)
{
	curl_off_t retry_s = 0;
	long status = 0;

	s->getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300) {
		ret->done = b->count;
		count_rejected(s->answer, b, ret);
		return;
	}
	if (status == 429 || status == 502 || status == 503 || status == 504) {
		ret->err = EAGAIN;
		if (s->getinfo(s->curl, CURLINFO_RETRY_AFTER, &retry_s) == CURLE_OK && retry_s > 0)
			ret->retry_ns = (uint64_t)(retry_s < RETRY_MAX_S ? retry_s : RETRY_MAX_S) * NS_PER_S;
		snprintf(ret->why, sizeof(ret->why), "the collector answered with status %ld", status);
		return;
	}
	ret->done = ret->refused = b->count;
	ret->err = EBADMSG;
	snprintf(ret->why, sizeof(ret->why), "the collector answered with status %ld, and will not take them", status);
}

static void set_up(struct otlp_sender *s, const struct otlp_settings *o, const char *body, size_t len,
		   struct curl_slist *headers)
{
	s->reset(s->curl);
	s->answer_len = 0;
	s->answer[0] = '\0';
	s->setopt(s->curl, CURLOPT_URL, o->url);
	s->setopt(s->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	s->setopt(s->curl, CURLOPT_NOPROXY, "*");
	s->setopt(s->curl, CURLOPT_NOSIGNAL, 1L);
	s->setopt(s->curl, CURLOPT_TIMEOUT_MS, (long)o->timeout_ms);
	s->setopt(s->curl, CURLOPT_HTTPHEADER, headers);
	s->setopt(s->curl, CURLOPT_POSTFIELDS, body);
	s->setopt(s->curl, CURLOPT_POSTFIELDSIZE, (long)len);
	s->setopt(s->curl, CURLOPT_USERAGENT, "pinwhy/" PINWHY_VERSION);
	s->setopt(s->curl, CURLOPT_WRITEFUNCTION, on_answer);
	s->setopt(s->curl, CURLOPT_WRITEDATA, s);
	if (*o->ca_file)
		s->setopt(s->curl, CURLOPT_CAINFO, o->ca_file);
}

void otlp_send(struct otlp_sender **sender, const struct batch *b, struct outcome *ret)
{
	const struct otlp_settings *o = (const void *)b->settings.room;
	struct curl_slist *headers = NULL;
	size_t len = 0;
	char *body;
	CURLcode code;

	if (!b->count)
		return;
	if (!*sender)
		*sender = sender_new();
	body = *sender ? body_of(b, o, &len) : NULL;
	if (!body) {
		ret->err = *sender ? ENOMEM : ENOENT;
		snprintf(ret->why, sizeof(ret->why), "%s", *sender ? "" : "libcurl cannot be loaded");
		return;
	}
	headers = (*sender)->append(headers, "Content-Type: application/json");
	headers = (*sender)->append(headers, "Expect:");
	if (o->gzip && compress_body(&body, &len))
		headers = (*sender)->append(headers, "Content-Encoding: gzip");
	set_up(*sender, o, body, len, headers);
	code = (*sender)->perform((*sender)->curl);
	if (code == CURLE_OK) {
		judge(*sender, b, ret);
	} else {
		ret->err = code == CURLE_OPERATION_TIMEDOUT ? ETIMEDOUT : ECONNREFUSED;
		snprintf(ret->why, sizeof(ret->why), "%s", (*sender)->strerror(code));
	}
	(*sender)->free_all(headers);
	free(body);
}
