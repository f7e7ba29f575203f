// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the suites ask again and again, each in one process that starts in milliseconds: a pipeline of busybox takes
 * ten times as long under emulation, and jq a second.
 *
 *   lab get ADDRESS PATH                     the body of an answer of HTTP
 *   lab metric ADDRESS NAME [LABEL="V"]...   the sum of all series of a metric that carry the labels
 *   lab slots ADDRESS                        "slot state" of each slot of a running pinwhy
 *   lab fields FILE PATH...                  values of the first JSON document in FILE ("-": standard input), as
 *                                            jq -r would print them, on one line: .a.b, .a[0].b; with "|length"
 *                                            behind it how many elements there are
 *   lab symbols                              reads lines "word symbol..." and prints the words whose symbols are
 *                                            all in /proc/kallsyms
 *
 * ADDRESS is IPv4:PORT. Exit 0; 1 when it is not there (no answer but 200, no such metric, no document, no word); 2 when
 * called wrongly. A field that is not there is null, as jq has it.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_S 30	/* that an answer may take */

static void die(const char *what)
{
	fprintf(stderr, "lab: %s\n", what);
	exit(1);
}

/* All of a file, with a 0 behind it; to be freed. */
static char *read_all(int fd)
{
	size_t size = 0, room = 1 << 16;
	char *text = malloc(room);
	ssize_t n;

	while (text && (n = read(fd, text + size, room - size - 1)) > 0) {
		size += n;
		if (room - size < 2)
			text = realloc(text, room *= 2);
	}
	if (!text)
		die("no memory");
	text[size] = '\0';
	return text;
}

/* --- pinwhy's own numbers --- */

static int connect_to(const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct timeval limit = { .tv_sec = ANSWER_S };
	char host[64];
	unsigned int port;
	int fd;

	if (sscanf(address, "%63[0-9.]:%u", host, &port) != 2 || inet_pton(AF_INET, host, &to.sin_addr) != 1) {
		fprintf(stderr, "lab: '%s' is no address\n", address);
		exit(2);
	}
	to.sin_port = htons(port);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		exit(1);
	return fd;
}

/* The body of the answer; ends the program when there is none. */
static char *get(const char *address, const char *path)
{
	int fd = connect_to(address);
	char request[512], *answer, *body;
	int n = snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\nHost: %s\r\nConnection: close\r\n\r\n", path, address);

	if (n >= (int)sizeof(request) || write(fd, request, n) != n)
		exit(1);
	answer = read_all(fd);
	body = strstr(answer, "\r\n\r\n");
	if (!body || strncmp(answer, "HTTP/1.", 7) || strncmp(answer + 8, " 200", 4))
		exit(1);
	return body + 4;
}

static bool carries(const char *series, char **labels)
{
	for (; *labels; labels++)
		if (!strstr(series, *labels))
			return false;
	return true;
}

static int metric(char **words)
{
	char *save, *line = strtok_r(get(words[0], "/metrics"), "\n", &save);
	const char *name = words[1];
	size_t length = strlen(name);
	bool family = false;
	double sum = 0;

	for (; line; line = strtok_r(NULL, "\n", &save)) {
		char *value = strrchr(line, ' ');

		if (line[0] == '#') {
			char *word = strchr(line + 1, ' ');	/* "# HELP NAME ..." */

			word = word ? strchr(word + 1, ' ') : NULL;
			family |= word && !strncmp(word + 1, name, length) && word[1 + length] == ' ';
			continue;
		}
		if (!value || strncmp(line, name, length) || (line[length] != '{' && line[length] != ' '))
			continue;
		family = true;
		*value = '\0';
		if (carries(line, words + 2))
			sum += strtod(value + 1, NULL);
	}
	if (!family)
		return 1;
	printf("%.0f\n", sum);
	return 0;
}

static int slots(char **words)
{
	char *save, *line = strtok_r(get(words[0], "/metrics"), "\n", &save);
	char slot[128], state[64];
	int value;

	for (; line; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "pinwhy_slot_state{slot=\"%127[^\"]\",state=\"%63[^\"]\"} %d", slot, state, &value) == 3 && value == 1)
			printf("%s %s\n", slot, state);
	return 0;
}

/* --- JSON: enough to walk through a document that a JSON library has written --- */

static const char *skip_space(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

static const char *skip_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	if (!*at)
		die("a string does not end");
	return at + 1;
}

/* Behind the value that begins here. */
static const char *skip_value(const char *at)
{
	int depth = 0;

	do {
		at = skip_space(at);
		if (*at == '"') {
			at = skip_string(at);
		} else if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (*at == '}' || *at == ']') {
			depth--;
			at++;
		} else if (*at == ',' || *at == ':') {
			at++;
		} else if (*at) {
			at += strcspn(at, ",:]} \t\r\n");
		} else {
			die("the document does not end");
		}
	} while (depth > 0);
	return at;
}

/* Steps over "," and returns whether another element follows. */
static bool next_element(const char **at)
{
	*at = skip_space(*at);
	if (**at == ',')
		*at = skip_space(*at + 1);
	return **at && **at != '}' && **at != ']';
}

/* The value of a key, or NULL. */
static const char *member(const char *object, const char *key, size_t length)
{
	const char *at = object + 1;

	if (*object != '{')
		return NULL;
	while (next_element(&at)) {
		const char *end = skip_string(at);
		bool found = (size_t)(end - at) == length + 2 && !strncmp(at + 1, key, length);

		at = skip_space(end);
		at = skip_space(at + (*at == ':'));
		if (found)
			return at;
		at = skip_value(at);
	}
	return NULL;
}

static const char *element(const char *array, long index)
{
	const char *at = array + 1;

	if (*array != '[')
		return NULL;
	for (; next_element(&at); at = skip_value(at))
		if (index-- == 0)
			return at;
	return NULL;
}

/* How many elements or members there are: jq's length of null is 0. */
static long length_of(const char *value)
{
	const char *at = value + 1;
	long n = 0;

	if (*value != '[' && *value != '{')
		return 0;
	for (; next_element(&at); at = skip_value(at)) {
		if (*value == '{') {
			at = skip_space(skip_string(at));
			at += *at == ':';
		}
		n++;
	}
	return n;
}

static const char *walk(const char *value, const char *path)
{
	value = skip_space(value);
	while (value && *path && *path != '|') {
		if (*path == '[') {
			char *end;
			long index = strtol(path + 1, &end, 10);

			value = element(value, index);
			path = end + (*end == ']');
		} else if (*path == '.') {
			size_t length = strcspn(path + 1, ".[|");

			value = length ? member(value, path + 1, length) : value;
			path += 1 + length;
		} else {
			fprintf(stderr, "lab: '%s' is no path\n", path);
			exit(2);
		}
	}
	return value;
}

static void print_string(const char *at)
{
	for (at++; *at != '"'; at++) {
		static const char from[] = "ntrbf", to[] = "\n\t\r\b\f";
		const char *which;

		if (*at != '\\') {
			putchar(*at);
			continue;
		}
		which = strchr(from, *++at);
		putchar(which ? to[which - from] : *at);
	}
}

static void print_field(const char *document, const char *path)
{
	const char *value = walk(document, path);

	if (strstr(path, "|length"))
		printf("%ld", value ? length_of(value) : 0);
	else if (!value)
		printf("null");
	else if (*value == '"')
		print_string(value);
	else
		printf("%.*s", (int)(skip_value(value) - value), value);
}

static int fields(const char *file, char **paths)
{
	char *text;

	if (strcmp(file, "-") && !freopen(file, "r", stdin))
		die("no such file");
	text = read_all(STDIN_FILENO);
	if (!*skip_space(text))
		return 1;
	for (; *paths; paths++) {
		print_field(text, *paths);
		putchar(paths[1] ? ' ' : '\n');
	}
	return 0;
}

/* --- the kernel's names --- */

#define WORDS_MAX 1024
#define NEEDS_MAX 4096

static struct need {
	const char *symbol;
	int word;
} needs[NEEDS_MAX];

static int by_symbol(const void *a, const void *b)
{
	return strcmp(((const struct need *)a)->symbol, ((const struct need *)b)->symbol);
}

/* Each need once: of two symbols of one name only the first counts. */
static void found(const char *symbol, int n, int *missing)
{
	int low = 0, high = n;

	while (low < high) {
		int middle = (low + high) / 2;

		if (strcmp(needs[middle].symbol, symbol) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && !strcmp(needs[low].symbol, symbol); low++)
		if (needs[low].word >= 0) {
			missing[needs[low].word]--;
			needs[low].word = -1;
		}
}

static int symbols(void)
{
	static char *names[WORDS_MAX];
	static int missing[WORDS_MAX];
	char *save, *line = strtok_r(read_all(STDIN_FILENO), "\n", &save), row[1024];
	int words = 0, n = 0, told = 0;
	FILE *f = fopen("/proc/kallsyms", "re");

	for (; line && words < WORDS_MAX; line = strtok_r(NULL, "\n", &save)) {
		char *symbol, *inner;

		names[words] = strtok_r(line, " ", &inner);
		if (!names[words])
			continue;
		while ((symbol = strtok_r(NULL, " ", &inner)) && n < NEEDS_MAX) {
			needs[n++] = (struct need){ symbol, words };
			missing[words]++;
		}
		words++;
	}
	if (!f || line || n == NEEDS_MAX)
		die(f ? "too many words" : "no /proc/kallsyms");
	qsort(needs, n, sizeof(needs[0]), by_symbol);
	while (fgets(row, sizeof(row), f)) {
		char *name = strchr(row, ' ');	/* "address type name [module]" */

		name = name ? strchr(name + 1, ' ') : NULL;
		if (name) {
			name[1 + strcspn(name + 1, "\t\n ")] = '\0';
			found(name + 1, n, missing);
		}
	}
	for (int i = 0; i < words; i++)
		if (missing[i] == 0)
			told += puts(names[i]) >= 0;
	return told == 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "get") && argc == 4)
		return fputs(get(argv[2], argv[3]), stdout) < 0;
	if (!strcmp(what, "metric") && argc >= 4)
		return metric(argv + 2);
	if (!strcmp(what, "slots") && argc == 3)
		return slots(argv + 2);
	if (!strcmp(what, "fields") && argc >= 4)
		return fields(argv[2], argv + 3);
	if (!strcmp(what, "symbols") && argc == 2)
		return symbols();
	fputs("usage: lab get|metric|slots|fields|symbols ...: see tests/vm/guest/lab.c\n", stderr);
	return 2;
}
