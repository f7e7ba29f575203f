// SPDX-License-Identifier: BSD-2-Clause
#include "http_auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>

#include "helper.h"

#define WAITING_MAX 8		/* passwords being hashed or waiting for it */
#define REMEMBERED_MAX 32
#define DIGEST_LEN 32		/* SHA-256 */
#define DEADLINE_NS 5000000000ULL
#define HASHER_NICE 10		/* who guesses passwords takes no time from the node's work */

struct hash_request {
	char hash[WEBCONFIG_HASH_LEN];
	char password[AUTH_PASSWORD_MAX];
};

struct hash_answer {
	char hash[WEBCONFIG_HASH_LEN];	/* "" = it failed */
};

struct waiting {
	uint64_t id;		/* the caller's, 0 = free, or forgotten while `ticket` is out */
	uint64_t ticket;	/* the helper's, 0 = free */
	uint64_t deadline_ns;
	bool known;		/* the name is a user's */
	char hash[WEBCONFIG_HASH_LEN];
	unsigned char digest[DIGEST_LEN];
};

struct auth {
	struct helper *helper;
	auth_done_fn done;
	void *ctx;
	struct web_user *users;
	uint32_t nusers;
	char nobody[WEBCONFIG_HASH_LEN];	/* hashed against for names that there are not */
	uint64_t tickets;
	struct waiting waiting[WAITING_MAX];
	unsigned char key[DIGEST_LEN];
	unsigned char remembered[REMEMBERED_MAX][DIGEST_LEN];
	uint32_t next, nremembered;
};

/* In the helper's worker. */
static void hash(void *ctx, const void *request, void *ret_answer)
{
	const struct hash_request *req = request;
	struct hash_answer *answer = ret_answer;
	static struct crypt_data data;
	const char *made;

	(void)ctx;
	setpriority(PRIO_PROCESS, 0, HASHER_NICE);
	made = crypt_r(req->password, req->hash, &data);
	if (made && *made != '*' && strlen(made) < sizeof(answer->hash))
		strcpy(answer->hash, made);
	explicit_bzero(&data, sizeof(data));
}

static void remember(struct auth *a, const unsigned char *digest)
{
	memcpy(a->remembered[a->next], digest, DIGEST_LEN);
	a->next = (a->next + 1) % REMEMBERED_MAX;
	if (a->nremembered < REMEMBERED_MAX)
		a->nremembered++;
}

static bool is_remembered(const struct auth *a, const unsigned char *digest)
{
	int found = 0;

	for (uint32_t i = 0; i < REMEMBERED_MAX; i++)
		found |= (i < a->nremembered) & (gnutls_memcmp(a->remembered[i], digest, DIGEST_LEN) == 0);
	return found;
}

static void end(struct auth *a, struct waiting *w, enum auth_verdict verdict, struct clock_pair now)
{
	uint64_t id = w->id;

	explicit_bzero(w, sizeof(*w));
	if (id)
		a->done(a->ctx, id, verdict, now);
}

static void on_answer(void *ctx, uint64_t ticket, const void *data, struct clock_pair now)
{
	const struct hash_answer *answer = data;
	struct auth *a = ctx;

	for (int i = 0; i < WAITING_MAX; i++) {
		struct waiting *w = &a->waiting[i];
		bool same;

		if (w->ticket != ticket)
			continue;
		same = gnutls_memcmp(answer->hash, w->hash, sizeof(w->hash)) == 0;
		if (same && w->known)
			remember(a, w->digest);
		end(a, w, same && w->known ? AUTH_RIGHT : AUTH_WRONG, now);
		return;
	}
}

static const struct helper_ops hasher = {
	.name = "pinwhy-passwd", .request_size = sizeof(struct hash_request), .answer_size = sizeof(struct hash_answer),
	.queue = WAITING_MAX, .work = hash, .answer = on_answer,
};

int auth_start(struct auth **ret_auth)
{
	struct auth *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	err = getrandom(a->key, sizeof(a->key), 0) == sizeof(a->key) ? 0 : -EIO;
	if (!err)
		err = helper_start(&a->helper, &hasher, a, DEADLINE_NS);
	if (err) {
		free(a);
		return err;
	}
	*ret_auth = a;
	return 0;
}

int auth_attach(struct auth *a, struct loop *loop, auth_done_fn done, void *ctx)
{
	a->done = done;
	a->ctx = ctx;
	return helper_attach(a->helper, loop);
}

static void forget_users(struct auth *a)
{
	if (a->users)
		explicit_bzero(a->users, a->nusers * sizeof(*a->users));
	free(a->users);
	a->users = NULL;
	a->nusers = 0;
	explicit_bzero(a->remembered, sizeof(a->remembered));
	a->nremembered = 0;
	/* A password that is being hashed for a user who may be gone. */
	for (int i = 0; i < WAITING_MAX; i++)
		a->waiting[i].known = false;
}

void auth_users(struct auth *a, const struct webconfig *w)
{
	char cost[3] = "10";

	forget_users(a);
	if (w && w->nusers)
		a->users = calloc(w->nusers, sizeof(*a->users));
	for (uint32_t i = 0; a->users && i < w->nusers; i++) {
		a->users[i] = w->users[i];
		if (i == 0 || memcmp(w->users[i].hash + 4, cost, 2) > 0)
			memcpy(cost, w->users[i].hash + 4, 2);
		a->nusers++;
	}
	/* Any salt and hash will do: what is made is never taken for right. */
	memcpy(a->nobody, "$2y$10$......................", 30);
	memcpy(a->nobody + 4, cost, 2);
}

static int digest_of(const struct auth *a, const char *user, const struct hash_request *req, unsigned char *ret_digest)
{
	char text[WEBCONFIG_USER_LEN + sizeof(*req)];
	int rc;

	memset(text, 0, sizeof(text));
	strncpy(text, user, WEBCONFIG_USER_LEN - 1);
	memcpy(text + WEBCONFIG_USER_LEN, req, sizeof(*req));
	rc = gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->key, sizeof(a->key), text, sizeof(text), ret_digest);
	explicit_bzero(text, sizeof(text));
	return rc;
}

/* Looks at all users, whoever it is. */
static bool find_user(const struct auth *a, const char *user, struct hash_request *req)
{
	bool known = false;

	memcpy(req->hash, a->nobody, sizeof(req->hash));
	for (uint32_t i = 0; i < a->nusers; i++) {
		if (strcmp(a->users[i].name, user) != 0)
			continue;
		memcpy(req->hash, a->users[i].hash, sizeof(req->hash));
		known = true;
	}
	return known;
}

static enum auth_verdict ask(struct auth *a, uint64_t id, const struct hash_request *req, const unsigned char *digest, bool known,
			     struct clock_pair now)
{
	for (int i = 0; i < WAITING_MAX; i++) {
		struct waiting *w = &a->waiting[i];

		if (w->ticket)
			continue;
		if (helper_ask(a->helper, a->tickets + 1, req, now) < 0)
			return AUTH_BUSY;
		*w = (struct waiting){ .id = id, .ticket = ++a->tickets, .deadline_ns = now.mono_ns + DEADLINE_NS, .known = known };
		memcpy(w->hash, req->hash, sizeof(w->hash));
		memcpy(w->digest, digest, sizeof(w->digest));
		return AUTH_ASKED;
	}
	return AUTH_BUSY;
}

enum auth_verdict auth_check(struct auth *a, uint64_t id, const char *user, const char *password, struct clock_pair now)
{
	/* One that is too long is never right, and costs what a short one does. */
	bool fits = strlen(user) < WEBCONFIG_USER_LEN && strlen(password) < AUTH_PASSWORD_MAX;
	unsigned char digest[DIGEST_LEN];
	struct hash_request req = { 0 };
	enum auth_verdict verdict;
	bool known;

	strncpy(req.password, password, sizeof(req.password) - 1);
	known = find_user(a, user, &req) && fits;
	if (digest_of(a, user, &req, digest) < 0)
		verdict = AUTH_BUSY;
	else if (is_remembered(a, digest) && known)
		verdict = AUTH_RIGHT;
	else
		verdict = ask(a, id, &req, digest, known, now);
	explicit_bzero(&req, sizeof(req));
	return verdict;
}

void auth_forget(struct auth *a, uint64_t id)
{
	for (int i = 0; i < WAITING_MAX; i++)
		if (a->waiting[i].id == id)
			a->waiting[i].id = 0;
}

void auth_expire(struct auth *a, struct clock_pair now)
{
	for (int i = 0; i < WAITING_MAX; i++)
		if (a->waiting[i].ticket && a->waiting[i].deadline_ns <= now.mono_ns)
			end(a, &a->waiting[i], AUTH_BUSY, now);
}

void auth_stop(struct auth *a)
{
	if (!a)
		return;
	helper_stop(a->helper);
	forget_users(a);
	explicit_bzero(a, sizeof(*a));
	free(a);
}
