/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Passwords of the web configuration. bcrypt takes tens of milliseconds by design: it runs in a helper process of its own with a
 * short queue, so that neither events nor facts wait for it, and what does not fit is turned away.
 *
 * A password that was right is remembered as a keyed digest, so that a scraper does not pay each time; one that was wrong is
 * not. All entries are compared, in constant time each: how long it takes tells only whether the very same password was right
 * before. A name that there is not costs the hash of the most expensive user.
 */
#ifndef PINWHY_HTTP_AUTH_H
#define PINWHY_HTTP_AUTH_H

#include <stdint.h>

#include "loop.h"
#include "web/webconfig.h"

#define AUTH_PASSWORD_MAX 256	/* bytes; bcrypt looks at 72 */

enum auth_verdict {
	AUTH_RIGHT,
	AUTH_WRONG,
	AUTH_ASKED,	/* the answer comes by `done` */
	AUTH_BUSY,	/* too many passwords are being hashed, or it took too long: later */
};

struct auth;
typedef void (*auth_done_fn)(void *ctx, uint64_t id, enum auth_verdict verdict, struct clock_pair now);

/* Forks: early. Nobody is known yet. */
int auth_start(struct auth **ret_auth);
int auth_attach(struct auth *a, struct loop *loop, auth_done_fn done, void *ctx);
/* These are the users from now on; copied. What was remembered is forgotten. NULL = none. */
void auth_users(struct auth *a, const struct webconfig *w);
/* `id` is the caller's, not 0. Never blocks. */
enum auth_verdict auth_check(struct auth *a, uint64_t id, const char *user, const char *password, struct clock_pair now);
/* The caller is gone: no answer for this id. */
void auth_forget(struct auth *a, uint64_t id);
/* Answers for what waits too long; call now and then. */
void auth_expire(struct auth *a, struct clock_pair now);
/* NULL-safe. */
void auth_stop(struct auth *a);

#endif
