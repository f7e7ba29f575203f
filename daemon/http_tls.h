/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What TLS connections are made with: certificate, key, client CA and versions of one reading of the web configuration. Old
 * connections keep what they began with; new ones get what was read last.
 */
#ifndef PINWHY_HTTP_TLS_H
#define PINWHY_HTTP_TLS_H

#include <gnutls/gnutls.h>

#include "web/webconfig.h"

struct tls;

/* Reads and checks the files: -errno or -EINVAL, and `error` (WEBCONFIG_ERROR_MAX) says what is wrong with which. */
int tls_new(struct tls **ret_tls, const struct webconfig *w, const char *path, char *error);
/* One user less. It is freed with the last one; tls_new() gives the first. NULL-safe. */
void tls_drop(struct tls *t);
/* A session that has not begun uses it from now on, and so is one user more. -EIO. */
int tls_use(struct tls *t, gnutls_session_t session);
/* PEM, for libmicrohttpd, which wants some at its start. */
const char *tls_cert(const struct tls *t);
const char *tls_key(const struct tls *t);

#endif
