// SPDX-License-Identifier: BSD-2-Clause
#include "web/query.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "text.h"

void query_init(struct query *q)
{
	*q = (struct query){ .limit = QUERY_LIMIT_DEFAULT };
}

static const char *set_since(struct query *q, const char *value, uint64_t now_real_ns)
{
	return text_since(q->since, value, now_real_ns) ? NULL : "since= takes 90s, 10m, 2h, 3d, or a time in UTC such as 2026-11-29T04:12:00Z";
}

static const char *set_cause(struct query *q, const char *value, uint64_t now_real_ns)
{
	(void)now_real_ns;
	if (!*value || strlen(value) >= sizeof(q->cause) ||
	    value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789_")])
		return "cause= takes the id of a cause, as pinwhy causes lists them, or unknown, or none";
	strcpy(q->cause, value);
	return NULL;
}

static const char *set_limit(struct query *q, const char *value, uint64_t now_real_ns)
{
	unsigned long n;

	(void)now_real_ns;
	if (!*value || strlen(value) > 5 || value[strspn(value, "0123456789")])
		return "limit= takes a number from 1 to 10000";
	n = strtoul(value, NULL, 10);
	if (n < 1 || n > QUERY_LIMIT_MAX)
		return "limit= takes a number from 1 to 10000";
	q->limit = (uint32_t)n;
	return NULL;
}

static const char *set_format(struct query *q, const char *value, uint64_t now_real_ns)
{
	(void)now_real_ns;
	if (strcmp(value, "json") != 0)
		return "format= takes json";
	q->json = true;
	return NULL;
}

static const struct {
	const char *key;
	const char *(*set)(struct query *q, const char *value, uint64_t now_real_ns);
} keys[] = {
	{ "since", set_since }, { "cause", set_cause }, { "limit", set_limit }, { "format", set_format },
};

const char *query_set(struct query *q, const char *key, const char *value, uint64_t now_real_ns)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i].key, key) == 0)
			return keys[i].set(q, value ? value : "", now_real_ns);
	return "there are since=, cause=, limit= and format=";
}

bool query_fits(const struct query *q, const struct stored *report)
{
	if (*q->since && strcmp(report->time, q->since) < 0)
		return false;
	if (strcmp(q->cause, "none") == 0)
		return !*report->cause;
	return !*q->cause || strcmp(report->cause, q->cause) == 0;
}

/* xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */
bool query_is_id(const char *s)
{
	for (int i = 0; i < STORE_ID_LEN - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' : !((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f')))
			return false;
	}
	return !s[STORE_ID_LEN - 1];
}

static bool is_address(const char *name)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;
}

static bool is_listed(const char *name, const char *list)
{
	size_t len = strlen(name);

	while (*list) {
		size_t n;

		list += strspn(list, ", ");
		n = strcspn(list, ", ");
		if (n == len && n && strncasecmp(list, name, n) == 0)
			return true;
		list += n;
	}
	return false;
}

/* "node" and "node.example.org" are both the machine's when one of them is its name. */
static bool is_node(const char *name, const char *node)
{
	size_t n = strcspn(node, ".");

	return *node && (strcasecmp(name, node) == 0 || (strlen(name) == n && strncasecmp(name, node, n) == 0));
}

static bool is_port(const char *s)
{
	return *s && strlen(s) <= 5 && !s[strspn(s, "0123456789")];
}

bool query_host_ours(const char *host, const char *node, const char *hosts)
{
	const char *end = host[0] == '[' ? strchr(host, ']') : NULL;
	char name[256];
	size_t len;

	if (host[0] == '[') {
		if (!end || (end[1] && (end[1] != ':' || !is_port(end + 2))))
			return false;
		host++;
		len = (size_t)(end - host);
	} else {
		len = strcspn(host, ":");
		if (host[len] && !is_port(host + len + 1))
			return false;
	}
	if (!len || len >= sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)len, host);
	return is_address(name) || strcasecmp(name, "localhost") == 0 || is_node(name, node) || is_listed(name, hosts);
}
