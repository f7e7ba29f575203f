// SPDX-License-Identifier: BSD-2-Clause
/* bcrypt PASSWORD: its hash, as htpasswd -B makes one, with a cost of 5. For tests: the salt is always the same. */
#include <crypt.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	const char *salt = crypt_gensalt("$2y$", 5, "0123456789abcdef", 16), *hash = argc == 2 && salt ? crypt(argv[1], salt) : NULL;

	if (!hash || *hash == '*')
		return 1;
	puts(hash);
	return 0;
}
