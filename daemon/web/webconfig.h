/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The web configuration file that Prometheus exporters share (YAML): TLS, users, response headers, rate limit.
 * What it says that cannot be had here is an error and never passed over: who asks for less cipher suites
 * must not believe to have them.
 */
#ifndef PINWHY_WEB_WEBCONFIG_H
#define PINWHY_WEB_WEBCONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBCONFIG_ERROR_MAX 512
#define WEBCONFIG_BYTES_MAX ((size_t)256 << 10)
#define WEBCONFIG_USERS_MAX 64
#define WEBCONFIG_USER_LEN 128
#define WEBCONFIG_HASH_LEN 64	/* bcrypt: 60 characters */
#define WEBCONFIG_COST_MAX 15	/* of bcrypt: more takes longer than a request may wait */
#define WEBCONFIG_CURVES_MAX 8

/* As Go's crypto/tls numbers them. */
enum client_auth { CLIENT_NONE, CLIENT_REQUEST, CLIENT_REQUIRE_ANY, CLIENT_VERIFY_IF_GIVEN, CLIENT_REQUIRE_AND_VERIFY };
enum tls_version { TLS_1_0, TLS_1_1, TLS_1_2, TLS_1_3 };

enum web_header { HEADER_CSP, HEADER_FRAME, HEADER_SNIFF, HEADER_XSS, HEADER_HSTS, WEB_HEADERS };
extern const char *const web_header_names[WEB_HEADERS];

struct web_user {
	char name[WEBCONFIG_USER_LEN], hash[WEBCONFIG_HASH_LEN];
};

/* One piece of PEM: from a file, or written into the configuration. */
struct web_pem {
	char path[PATH_MAX];	/* "" = none; relative ones lie beside the configuration file */
	char *text;		/* NULL = none */
	unsigned int line;	/* that named it */
};

struct webconfig {
	bool tls;
	struct web_pem cert, key, client_ca;
	enum client_auth client_auth;
	enum tls_version min_version, max_version;
	bool client_preference;		/* prefer_server_cipher_suites: false */
	const char *curves[WEBCONFIG_CURVES_MAX];	/* GnuTLS's names, in order; none = its own choice */
	uint32_t ncurves;
	char *headers[WEB_HEADERS];	/* NULL = not set, "" = not to be sent */
	struct web_user *users;
	uint32_t nusers;
	uint64_t rate_interval_ns;	/* 0 = no limit */
	uint32_t rate_burst;
};

/* -errno when it cannot be read, -EINVAL for what is in it; `error` (WEBCONFIG_ERROR_MAX) says "FILE:LINE: what". */
int webconfig_load(struct webconfig **ret_web, const char *path, char *error);
/* The same from memory; `path` is for messages and for relative paths. */
int webconfig_parse(struct webconfig **ret_web, const char *text, size_t len, const char *path, char *error);
/* Wipes what is secret. NULL-safe. */
void webconfig_free(struct webconfig *w);

/* Must a client be known to get past? By a password or by a certificate that was verified. */
bool webconfig_authenticates(const struct webconfig *w);

#endif
