// SPDX-License-Identifier: BSD-2-Clause
#include "web/webconfig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "suggest.h"

const char *const web_header_names[WEB_HEADERS] = {
	[HEADER_CSP] = "Content-Security-Policy", [HEADER_FRAME] = "X-Frame-Options", [HEADER_SNIFF] = "X-Content-Type-Options",
	[HEADER_XSS] = "X-XSS-Protection", [HEADER_HSTS] = "Strict-Transport-Security",
};

struct reading {
	struct webconfig *w;
	yaml_document_t *doc;
	const char *path;
	char *error;
};

__attribute__((format(printf, 3, 4)))
static int complain(struct reading *r, size_t line, const char *fmt, ...)
{
	int n = snprintf(r->error, WEBCONFIG_ERROR_MAX, "%s:%zu: ", r->path, line + 1);
	va_list ap;

	va_start(ap, fmt);
	if (n > 0 && n < WEBCONFIG_ERROR_MAX)
		vsnprintf(r->error + n, (size_t)(WEBCONFIG_ERROR_MAX - n), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A key of a mapping. `set` gets the value's node. */
struct key {
	const char *name;
	int (*set)(struct reading *r, const char *name, yaml_node_t *value);
};

/* ---- values ---- */

static const char *kind_of(const yaml_node_t *n)
{
	return n->type == YAML_MAPPING_NODE ? "a mapping" : n->type == YAML_SEQUENCE_NODE ? "a list" : "a value";
}

static size_t line_of(const yaml_node_t *n)
{
	return n->start_mark.line;
}

/* A string without NUL bytes, or NULL after a complaint. */
static const char *scalar(struct reading *r, const char *name, yaml_node_t *n)
{
	const char *s = n->type == YAML_SCALAR_NODE ? (const char *)n->data.scalar.value : NULL;

	if (!s)
		complain(r, line_of(n), "%s is %s: it must be one value", name, kind_of(n));
	else if (strlen(s) != n->data.scalar.length)
		complain(r, line_of(n), "%s holds a NUL byte", name);
	return s && strlen(s) == n->data.scalar.length ? s : NULL;
}

static int set_bool(struct reading *r, const char *name, yaml_node_t *n, bool *ret)
{
	static const char *const yes[] = { "true", "True", "TRUE", "yes", "on" }, *const no[] = { "false", "False", "FALSE", "no", "off" };
	const char *s = scalar(r, name, n);

	if (!s)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcmp(s, yes[i]) == 0 || strcmp(s, no[i]) == 0) {
			*ret = strcmp(s, yes[i]) == 0;
			return 0;
		}
	}
	return complain(r, line_of(n), "%s: '%.40s' is neither true nor false", name, s);
}

/* ---- tls_server_config ---- */

static int set_file(struct reading *r, const char *name, yaml_node_t *n, struct web_pem *pem)
{
	const char *s = scalar(r, name, n), *slash = strrchr(r->path, '/');
	int len;

	if (!s)
		return -EINVAL;
	if (!*s)
		return 0;
	if (*s == '/' || !slash)
		len = snprintf(pem->path, sizeof(pem->path), "%s", s);
	else
		len = snprintf(pem->path, sizeof(pem->path), "%.*s/%s", (int)(slash - r->path), r->path, s);
	if (len < 0 || (size_t)len >= sizeof(pem->path))
		return complain(r, line_of(n), "%s is longer than a path can be", name);
	pem->line = (unsigned int)line_of(n) + 1;
	return 0;
}

static int set_inline(struct reading *r, const char *name, yaml_node_t *n, struct web_pem *pem)
{
	const char *s = scalar(r, name, n);

	if (!s)
		return -EINVAL;
	if (!*s)
		return 0;
	if (!strstr(s, "-----BEGIN "))
		return complain(r, line_of(n), "%s holds no PEM: it must begin with -----BEGIN; for a file use %s_file", name, name);
	pem->text = strdup(s);
	pem->line = (unsigned int)line_of(n) + 1;
	return pem->text ? 0 : -ENOMEM;
}

#define PEM(field) \
static int set_##field##_file(struct reading *r, const char *name, yaml_node_t *n) { return set_file(r, name, n, &r->w->field); } \
static int set_##field(struct reading *r, const char *name, yaml_node_t *n) { return set_inline(r, name, n, &r->w->field); }
PEM(cert)
PEM(key)
PEM(client_ca)
#undef PEM

/* The place of a word in `words`, or a complaint that lists them. */
static int choose(struct reading *r, const char *name, yaml_node_t *n, const char *const *words, size_t nwords, int *ret)
{
	const char *s = scalar(r, name, n);
	char list[200] = "";
	size_t len = 0;

	if (!s)
		return -EINVAL;
	for (size_t i = 0; i < nwords; i++) {
		if (strcmp(words[i], s) == 0) {
			*ret = (int)i;
			return 0;
		}
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s", i ? ", " : "", words[i]);
	}
	return complain(r, line_of(n), "%s: '%.40s' is not one of %s", name, s, list);
}

static int set_client_auth(struct reading *r, const char *name, yaml_node_t *n)
{
	static const char *const words[] = {
		"NoClientCert", "RequestClientCert", "RequireAnyClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert",
	};
	int i = 0, err = choose(r, name, n, words, sizeof(words) / sizeof(words[0]), &i);

	r->w->client_auth = (enum client_auth)i;
	return err;
}

static int choose_version(struct reading *r, const char *name, yaml_node_t *n, enum tls_version *ret)
{
	static const char *const words[] = { "TLS10", "TLS11", "TLS12", "TLS13" };
	int i = TLS_1_2, err = choose(r, name, n, words, sizeof(words) / sizeof(words[0]), &i);

	*ret = (enum tls_version)i;
	return err;
}

static int set_min_version(struct reading *r, const char *name, yaml_node_t *n)
{
	return choose_version(r, name, n, &r->w->min_version);
}

static int set_max_version(struct reading *r, const char *name, yaml_node_t *n)
{
	return choose_version(r, name, n, &r->w->max_version);
}

static int set_preference(struct reading *r, const char *name, yaml_node_t *n)
{
	bool server = true;
	int err = set_bool(r, name, n, &server);

	r->w->client_preference = !server;
	return err;
}

static int set_curves(struct reading *r, const char *name, yaml_node_t *n)
{
	static const char *const go[] = { "CurveP256", "CurveP384", "CurveP521", "X25519" };
	static const char *const gnutls[] = { "GROUP-SECP256R1", "GROUP-SECP384R1", "GROUP-SECP521R1", "GROUP-X25519" };

	if (n->type != YAML_SEQUENCE_NODE)
		return complain(r, line_of(n), "%s is %s: it must be a list", name, kind_of(n));
	for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++) {
		int which = 0, err = choose(r, name, yaml_document_get_node(r->doc, *i), go, sizeof(go) / sizeof(go[0]), &which);

		if (err)
			return err;
		if (r->w->ncurves == WEBCONFIG_CURVES_MAX)
			return complain(r, line_of(n), "%s lists more than %d curves", name, WEBCONFIG_CURVES_MAX);
		r->w->curves[r->w->ncurves++] = gnutls[which];
	}
	return 0;
}

/* An empty list asks for nothing, and that can be had. */
static int refuse_list(struct reading *r, const char *name, yaml_node_t *n)
{
	if ((n->type == YAML_SEQUENCE_NODE && n->data.sequence.items.start == n->data.sequence.items.top) ||
	    (n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0))
		return 0;
	if (strcmp(name, "cipher_suites") == 0)
		return complain(r, line_of(n), "cipher_suites is not supported: suites are those that GnuTLS holds secure; "
				"min_version: TLS13 leaves the fewest. Remove the key");
	return complain(r, line_of(n), "%s is not supported: use a client_ca that signs those clients alone. Remove the key", name);
}

static const struct key tls_keys[] = {
	{ "cert_file", set_cert_file }, { "key_file", set_key_file }, { "client_ca_file", set_client_ca_file },
	{ "cert", set_cert }, { "key", set_key }, { "client_ca", set_client_ca },
	{ "client_auth_type", set_client_auth }, { "min_version", set_min_version }, { "max_version", set_max_version },
	{ "prefer_server_cipher_suites", set_preference }, { "curve_preferences", set_curves },
	{ "cipher_suites", refuse_list }, { "client_allowed_sans", refuse_list }, { NULL, NULL },
};

/* ---- http_server_config ---- */

/* HTTP/1.1 is what is spoken here; whoever speaks HTTP/2 speaks it too, and TLS settles on it. */
static int set_http2(struct reading *r, const char *name, yaml_node_t *n)
{
	bool ignored = false;

	return set_bool(r, name, n, &ignored);
}

static int set_header(struct reading *r, const char *name, yaml_node_t *n)
{
	const char *s = scalar(r, name, n);
	int i = 0;

	if (!s)
		return -EINVAL;
	if (strlen(s) > 2000 || s[strcspn(s, "\r\n")])
		return complain(r, line_of(n), "%s is longer than 2000 bytes or has several lines", name);
	while (strcmp(web_header_names[i], name) != 0)
		i++;
	r->w->headers[i] = strdup(s);
	return r->w->headers[i] ? 0 : -ENOMEM;
}

static int set_frame(struct reading *r, const char *name, yaml_node_t *n)
{
	static const char *const words[] = { "deny", "sameorigin", "" };
	int i, err = choose(r, name, n, words, sizeof(words) / sizeof(words[0]), &i);

	return err ? err : set_header(r, name, n);
}

static int set_sniff(struct reading *r, const char *name, yaml_node_t *n)
{
	static const char *const words[] = { "nosniff", "" };
	int i, err = choose(r, name, n, words, sizeof(words) / sizeof(words[0]), &i);

	return err ? err : set_header(r, name, n);
}

static const struct key header_keys[] = {
	{ "Content-Security-Policy", set_header }, { "X-Frame-Options", set_frame }, { "X-Content-Type-Options", set_sniff },
	{ "X-XSS-Protection", set_header }, { "Strict-Transport-Security", set_header }, { NULL, NULL },
};

static int read_keys(struct reading *r, const char *section, yaml_node_t *n, const struct key *keys);

static int set_headers(struct reading *r, const char *name, yaml_node_t *n)
{
	return read_keys(r, name, n, header_keys);
}

static const struct key http_keys[] = { { "http2", set_http2 }, { "headers", set_headers }, { NULL, NULL } };

/* ---- rate_limit ---- */

/* As Go writes durations: "1s", "250ms", "1m30s"; 0 needs no unit. */
static bool parse_duration(const char *s, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 } };
	double sum = 0;

	if (strcmp(s, "0") == 0) {
		*ret_ns = 0;
		return true;
	}
	do {
		size_t digits = strspn(s, "0123456789."), i;
		char *end;
		double n = strtod(s, &end);

		if (!digits || end != s + digits)
			return false;
		for (i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (strspn(end, "numsh") == strlen(units[i].unit) && strncmp(end, units[i].unit, strlen(units[i].unit)) == 0)
				break;
		if (i == sizeof(units) / sizeof(units[0]))
			return false;
		sum += n * (double)units[i].ns;
		s = end + strlen(units[i].unit);
	} while (*s);
	if (sum > 3600e9)
		return false;
	*ret_ns = (uint64_t)sum;
	return true;
}

static int set_interval(struct reading *r, const char *name, yaml_node_t *n)
{
	const char *s = scalar(r, name, n);

	if (!s)
		return -EINVAL;
	if (!parse_duration(s, &r->w->rate_interval_ns))
		return complain(r, line_of(n), "interval: '%.40s' is not a duration of up to an hour, such as 1s or 250ms", s);
	return 0;
}

static int set_burst(struct reading *r, const char *name, yaml_node_t *n)
{
	const char *s = scalar(r, name, n);

	if (!s)
		return -EINVAL;
	if (!*s || strlen(s) > 6 || s[strspn(s, "0123456789")])
		return complain(r, line_of(n), "burst: '%.40s' is not a whole number of up to 999999", s);
	r->w->rate_burst = (uint32_t)strtoul(s, NULL, 10);
	return 0;
}

static const struct key rate_keys[] = { { "interval", set_interval }, { "burst", set_burst }, { NULL, NULL } };

/* ---- basic_auth_users ---- */

/* $2a$, $2b$ or $2y$, two digits of cost, $, 53 characters. */
static const char *wrong_with_hash(const char *hash)
{
	unsigned int cost;

	if (strlen(hash) != 60 || hash[0] != '$' || hash[1] != '2' || !strchr("aby", hash[2]) || hash[3] != '$' || hash[6] != '$' ||
	    hash[4] < '0' || hash[4] > '9' || hash[5] < '0' || hash[5] > '9' ||
	    strspn(hash + 7, "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") != 53)
		return "is no bcrypt hash: make one with htpasswd -nBC 10 \"\" | tr -d ':\\n'";
	cost = (unsigned int)(hash[4] - '0') * 10 + (unsigned int)(hash[5] - '0');
	if (cost < 4)
		return "has a cost below 4, which bcrypt does not know";
	if (cost > WEBCONFIG_COST_MAX)
		return "has a cost above 15, which takes longer than a request may wait; 10 is usual";
	return NULL;
}

static int add_user(struct reading *r, yaml_node_t *name_node, yaml_node_t *hash_node)
{
	const char *name = scalar(r, "a user's name", name_node), *hash, *wrong;
	struct web_user *u = &r->w->users[r->w->nusers];

	if (!name)
		return -EINVAL;
	if (!*name || strlen(name) >= sizeof(u->name) || strchr(name, ':'))
		return complain(r, line_of(name_node), "a user's name is empty, longer than %d bytes or holds a colon", WEBCONFIG_USER_LEN - 1);
	hash = scalar(r, name, hash_node);
	if (!hash)
		return -EINVAL;
	wrong = wrong_with_hash(hash);
	if (wrong)
		return complain(r, line_of(hash_node), "the password of user '%s' %s", name, wrong);
	for (uint32_t i = 0; i < r->w->nusers; i++)
		if (strcmp(r->w->users[i].name, name) == 0)
			return complain(r, line_of(name_node), "user '%s' is there twice", name);
	strcpy(u->name, name);
	strcpy(u->hash, hash);
	r->w->nusers++;
	return 0;
}

static int set_users(struct reading *r, const char *name, yaml_node_t *n)
{
	if (n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0)
		return 0;
	if (n->type != YAML_MAPPING_NODE)
		return complain(r, line_of(n), "%s is %s: it must be lines of NAME: HASH", name, kind_of(n));
	if (n->data.mapping.pairs.top - n->data.mapping.pairs.start > WEBCONFIG_USERS_MAX)
		return complain(r, line_of(n), "%s has more than %d users", name, WEBCONFIG_USERS_MAX);
	r->w->users = calloc(WEBCONFIG_USERS_MAX, sizeof(*r->w->users));
	if (!r->w->users)
		return -ENOMEM;
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
		int err = add_user(r, yaml_document_get_node(r->doc, p->key), yaml_document_get_node(r->doc, p->value));

		if (err)
			return err;
	}
	return 0;
}

/* ---- the file ---- */

static int set_tls(struct reading *r, const char *name, yaml_node_t *n)
{
	int err = read_keys(r, name, n, tls_keys);

	/* An empty section is none, as for exporters. */
	r->w->tls = r->w->cert.line || r->w->key.line;
	return err;
}

static int set_http(struct reading *r, const char *name, yaml_node_t *n)
{
	return read_keys(r, name, n, http_keys);
}

static int set_rate(struct reading *r, const char *name, yaml_node_t *n)
{
	return read_keys(r, name, n, rate_keys);
}

static const struct key top_keys[] = {
	{ "tls_server_config", set_tls }, { "http_server_config", set_http }, { "basic_auth_users", set_users },
	{ "rate_limit", set_rate }, { NULL, NULL },
};

static int unknown_key(struct reading *r, const char *section, const char *name, size_t line, const struct key *keys)
{
	struct suggest s;
	char hint[80];

	suggest_init(&s, name);
	for (; keys->name; keys++)
		suggest_offer(&s, keys->name);
	return complain(r, line, "%s%sthere is no key '%.60s'%s", section ? section : "", section ? ": " : "", name,
			suggest_text(&s, hint, sizeof(hint)));
}

static int read_pair(struct reading *r, const char *section, yaml_node_t *n, yaml_node_pair_t *pair, const struct key *keys)
{
	yaml_node_t *key_node = yaml_document_get_node(r->doc, pair->key);
	const char *name = scalar(r, "a key", key_node);

	if (!name)
		return -EINVAL;
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < pair; p++) {
		yaml_node_t *before = yaml_document_get_node(r->doc, p->key);

		if (strcmp((const char *)before->data.scalar.value, name) == 0)
			return complain(r, line_of(key_node), "%.60s is there twice", name);
	}
	for (const struct key *k = keys; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k->set(r, name, yaml_document_get_node(r->doc, pair->value));
	return unknown_key(r, section, name, line_of(key_node), keys);
}

static int read_keys(struct reading *r, const char *section, yaml_node_t *n, const struct key *keys)
{
	if (n->type == YAML_SCALAR_NODE && n->data.scalar.length == 0)
		return 0;
	if (n->type != YAML_MAPPING_NODE)
		return complain(r, line_of(n), "%s is %s: it must have keys", section ? section : "the file", kind_of(n));
	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
		int err = read_pair(r, section, n, p, keys);

		if (err)
			return err;
	}
	return 0;
}

static int check_pem(struct reading *r, const struct web_pem *pem, const char *name)
{
	if (*pem->path && pem->text)
		return complain(r, pem->line - 1, "%s and %s_file exclude each other", name, name);
	return 0;
}

/* What can be wrong between keys. */
static int check_whole(struct reading *r)
{
	struct webconfig *w = r->w;
	unsigned int line = w->cert.line ? w->cert.line : w->key.line ? w->key.line : w->client_ca.line;
	int err = check_pem(r, &w->cert, "cert");

	if (!err)
		err = check_pem(r, &w->key, "key");
	if (!err)
		err = check_pem(r, &w->client_ca, "client_ca");
	if (err)
		return err;
	if (line && !w->cert.line)
		return complain(r, line - 1, "tls_server_config lacks cert_file");
	if (line && !w->key.line)
		return complain(r, line - 1, "tls_server_config lacks key_file");
	if (w->min_version > w->max_version)
		return complain(r, line ? line - 1 : 0, "min_version is above max_version");
	if (w->client_ca.line && w->client_auth == CLIENT_NONE)
		return complain(r, w->client_ca.line - 1, "a client_ca needs a client_auth_type: RequireAndVerifyClientCert");
	if (w->client_auth >= CLIENT_VERIFY_IF_GIVEN && !w->client_ca.line)
		return complain(r, line ? line - 1 : 0, "client_auth_type needs a client_ca_file to verify with");
	if (w->client_auth != CLIENT_NONE && !w->tls)
		return complain(r, 0, "client_auth_type needs cert_file and key_file");
	return 0;
}

static int read_document(struct reading *r, yaml_parser_t *parser)
{
	yaml_document_t doc;
	yaml_node_t *root;
	int err = 0;

	if (!yaml_parser_load(parser, &doc)) {
		size_t line = parser->problem_mark.line;

		if (parser->error == YAML_MEMORY_ERROR)
			return -ENOMEM;
		return complain(r, line, "this is no YAML: %s", parser->problem ? parser->problem : "unknown problem");
	}
	r->doc = &doc;
	root = yaml_document_get_root_node(&doc);
	if (root)
		err = read_keys(r, NULL, root, top_keys);
	yaml_document_delete(&doc);
	return err ? err : check_whole(r);
}

int webconfig_parse(struct webconfig **ret_web, const char *text, size_t len, const char *path, char *error)
{
	struct webconfig *w = calloc(1, sizeof(*w));
	struct reading r = { .w = w, .path = path, .error = error };
	yaml_parser_t parser;
	int err;

	*error = '\0';
	if (!w || !yaml_parser_initialize(&parser)) {
		free(w);
		snprintf(error, WEBCONFIG_ERROR_MAX, "%s: out of memory", path);
		return -ENOMEM;
	}
	w->min_version = TLS_1_2;
	w->max_version = TLS_1_3;
	w->rate_burst = 20;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	err = read_document(&r, &parser);
	yaml_parser_delete(&parser);
	if (err) {
		if (!*error)
			snprintf(error, WEBCONFIG_ERROR_MAX, "%s: %s", path, strerror(-err));
		webconfig_free(w);
		return err;
	}
	*ret_web = w;
	return 0;
}

int webconfig_load(struct webconfig **ret_web, const char *path, char *error)
{
	char *text = malloc(WEBCONFIG_BYTES_MAX + 1);
	FILE *f = text ? fopen(path, "re") : NULL;
	size_t len;
	int err = f ? 0 : text ? -errno : -ENOMEM;

	if (!err) {
		errno = 0;
		len = fread(text, 1, WEBCONFIG_BYTES_MAX + 1, f);
		err = ferror(f) ? (errno ? -errno : -EIO) : len > WEBCONFIG_BYTES_MAX ? -EFBIG : 0;
		fclose(f);
	}
	if (err)
		snprintf(error, WEBCONFIG_ERROR_MAX, "cannot read the web configuration %s: %s", path, strerror(-err));
	else
		err = webconfig_parse(ret_web, text, len, path, error);
	if (text)
		explicit_bzero(text, WEBCONFIG_BYTES_MAX + 1);
	free(text);
	return err;
}

static void free_pem(struct web_pem *pem)
{
	if (pem->text)
		explicit_bzero(pem->text, strlen(pem->text));
	free(pem->text);
}

void webconfig_free(struct webconfig *w)
{
	if (!w)
		return;
	free_pem(&w->cert);
	free_pem(&w->key);
	free_pem(&w->client_ca);
	for (int i = 0; i < WEB_HEADERS; i++)
		free(w->headers[i]);
	if (w->users)
		explicit_bzero(w->users, WEBCONFIG_USERS_MAX * sizeof(*w->users));
	free(w->users);
	free(w);
}

bool webconfig_authenticates(const struct webconfig *w)
{
	return w && (w->nusers || (w->tls && w->client_auth == CLIENT_REQUIRE_AND_VERIFY));
}
