// SPDX-License-Identifier: BSD-2-Clause
#include "http_tls.h"

#include <errno.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEM_BYTES_MAX ((size_t)256 << 10)

struct tls {
	unsigned int users;
	char *cert, *key, *ca;
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priority;
	gnutls_certificate_request_t request;
};

static int read_pem(const struct web_pem *pem, const char *path, const char *what, char **ret_text, char *error)
{
	char *text = calloc(1, PEM_BYTES_MAX + 1);
	FILE *f;
	int err;

	if (!text)
		return -ENOMEM;
	if (pem->text) {
		snprintf(text, PEM_BYTES_MAX, "%s", pem->text);
		*ret_text = text;
		return 0;
	}
	f = fopen(pem->path, "re");
	err = f ? 0 : -errno;
	errno = 0;
	if (f && fread(text, 1, PEM_BYTES_MAX + 1, f) > PEM_BYTES_MAX)
		err = -EFBIG;
	else if (f && ferror(f))
		err = errno ? -errno : -EIO;
	if (f)
		fclose(f);
	if (err) {
		snprintf(error, WEBCONFIG_ERROR_MAX, "%s:%u: cannot read the %s %.300s: %s", path, pem->line, what, pem->path, strerror(-err));
		free(text);
		return err;
	}
	*ret_text = text;
	return 0;
}

/* A client's certificate must come from the CA and be one for clients. */
static int verify(gnutls_session_t session)
{
	gnutls_typed_vdata_st for_clients = { .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)GNUTLS_KP_TLS_WWW_CLIENT };
	unsigned int status = 1;

	if (gnutls_certificate_verify_peers(session, &for_clients, 1, &status) < 0 || status)
		return GNUTLS_E_CERTIFICATE_ERROR;
	return 0;
}

static int make_priority(struct tls *t, const struct webconfig *w)
{
	static const char *const versions[] = { "TLS1.0", "TLS1.1", "TLS1.2", "TLS1.3" };
	char words[400] = "NORMAL:-VERS-ALL";
	size_t len = strlen(words);

	for (int v = (int)w->max_version; v >= (int)w->min_version; v--)
		len += (size_t)snprintf(words + len, sizeof(words) - len, ":+VERS-%s", versions[v]);
	if (!w->client_preference)
		len += (size_t)snprintf(words + len, sizeof(words) - len, ":%%SERVER_PRECEDENCE");
	if (w->ncurves)
		len += (size_t)snprintf(words + len, sizeof(words) - len, ":-GROUP-ALL");
	for (uint32_t i = 0; i < w->ncurves; i++)
		len += (size_t)snprintf(words + len, sizeof(words) - len, ":+%s", w->curves[i]);
	return gnutls_priority_init(&t->priority, words, NULL);
}

/* A GnuTLS error or 0; `*ret_what` is what it is about. */
static int make_credentials(struct tls *t, const struct webconfig *w, const char **ret_what)
{
	gnutls_datum_t cert = { (unsigned char *)t->cert, (unsigned int)strlen(t->cert) };
	gnutls_datum_t key = { (unsigned char *)t->key, (unsigned int)strlen(t->key) };
	int rc;

	*ret_what = "TLS";
	rc = gnutls_certificate_allocate_credentials(&t->credentials);
	if (rc < 0)
		return rc;
	*ret_what = "the certificate and its key";
	rc = gnutls_certificate_set_x509_key_mem(t->credentials, &cert, &key, GNUTLS_X509_FMT_PEM);
	if (rc >= 0 && t->ca) {
		gnutls_datum_t ca = { (unsigned char *)t->ca, (unsigned int)strlen(t->ca) };

		*ret_what = "the client CA";
		rc = gnutls_certificate_set_x509_trust_mem(t->credentials, &ca, GNUTLS_X509_FMT_PEM);
		rc = rc == 0 ? GNUTLS_E_NO_CERTIFICATE_FOUND : rc;
	}
	if (rc < 0)
		return rc;
	*ret_what = "min_version, max_version or curve_preferences";
	return make_priority(t, w);
}

int tls_new(struct tls **ret_tls, const struct webconfig *w, const char *path, char *error)
{
	static const gnutls_certificate_request_t requests[] = {
		[CLIENT_NONE] = GNUTLS_CERT_IGNORE, [CLIENT_REQUEST] = GNUTLS_CERT_REQUEST,
		[CLIENT_REQUIRE_ANY] = GNUTLS_CERT_REQUIRE, [CLIENT_VERIFY_IF_GIVEN] = GNUTLS_CERT_REQUEST,
		[CLIENT_REQUIRE_AND_VERIFY] = GNUTLS_CERT_REQUIRE,
	};
	struct tls *t = calloc(1, sizeof(*t));
	const char *what;
	int err = t ? 0 : -ENOMEM, rc;

	snprintf(error, WEBCONFIG_ERROR_MAX, "out of memory");
	if (!err)
		err = read_pem(&w->cert, path, "certificate", &t->cert, error);
	if (!err)
		err = read_pem(&w->key, path, "key", &t->key, error);
	if (!err && w->client_ca.line)
		err = read_pem(&w->client_ca, path, "client CA", &t->ca, error);
	if (!err) {
		rc = make_credentials(t, w, &what);
		if (rc < 0) {
			snprintf(error, WEBCONFIG_ERROR_MAX, "%s:%u: %s cannot be used: %s", path, w->cert.line, what, gnutls_strerror(rc));
			err = -EINVAL;
		}
	}
	if (err) {
		tls_drop(t);
		return err;
	}
	t->users = 1;
	t->request = requests[w->client_auth];
	if (w->client_auth >= CLIENT_VERIFY_IF_GIVEN)
		gnutls_certificate_set_verify_function(t->credentials, verify);
	*ret_tls = t;
	return 0;
}

void tls_drop(struct tls *t)
{
	if (!t || (t->users && --t->users))
		return;
	if (t->credentials)
		gnutls_certificate_free_credentials(t->credentials);
	if (t->priority)
		gnutls_priority_deinit(t->priority);
	if (t->key)
		explicit_bzero(t->key, strlen(t->key));
	free(t->cert);
	free(t->key);
	free(t->ca);
	free(t);
}

int tls_use(struct tls *t, gnutls_session_t session)
{
	if (gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->credentials) < 0 ||
	    gnutls_priority_set(session, t->priority) < 0)
		return -EIO;
	gnutls_certificate_server_set_request(session, t->request);
	t->users++;
	return 0;
}

const char *tls_cert(const struct tls *t)
{
	return t->cert;
}

const char *tls_key(const struct tls *t)
{
	return t->key;
}
