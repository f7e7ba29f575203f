/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One function per subcommand. argv[0] is the subcommand's name; the result is the exit
 * status: 0 fine, 1 failed or incomplete, 2 used wrongly or cannot run.
 */
#ifndef PINWHY_CLI_H
#define PINWHY_CLI_H

int cmd_run(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_pages(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_causes(int argc, char **argv);

#endif
