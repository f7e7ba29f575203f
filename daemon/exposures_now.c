// SPDX-License-Identifier: BSD-2-Clause
#include "exposures_now.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "enrich/enrich.h"
#include "exposures/read_node.h"
#include "helper.h"
#include "log.h"

#define NS_PER_S 1000000000ULL
#define PERIOD_NS (600 * NS_PER_S)
#define DEADLINE_NS (20 * NS_PER_S)

struct exposed {
	struct helper *helper;
	struct loop *loop;
	int timer;
	uint64_t id;
	bool known, pins_stay;
	struct enrich enrich;
	struct utsname uts;
	struct exposures now;
};

/* In the helper's worker. */
static void read_it(void *ctx, const void *request, void *ret_node)
{
	struct exposed *x = ctx;

	(void)request;
	node_read(&x->enrich, x->uts.machine, ret_node);
}

static void on_answer(void *ctx, uint64_t id, const void *data, struct clock_pair now)
{
	static struct node node;
	struct exposed *x = ctx;

	(void)id;
	(void)now;
	memcpy(&node, data, sizeof(node));
	node.pins_stay = x->pins_stay;
	exposures_judge(&node, &x->now);
	x->known = true;
}

static const struct helper_ops reader = {
	.name = "pinwhy-node", .request_size = sizeof(uint64_t), .answer_size = sizeof(struct node), .queue = 1,
	.work = read_it, .answer = on_answer,
};

/* One that does not come is tried again the next time; until then what was read before is shown. */
static void on_timer(void *ctx, struct clock_pair now)
{
	struct exposed *x = ctx;
	uint64_t request = 0;

	if (helper_ask(x->helper, ++x->id, &request, now) < 0)
		log_debug("this node's exposures are still being read");
	loop_timer_set(x->loop, x->timer, now.mono_ns + PERIOD_NS);
}

int exposed_start(struct exposed **ret_exposed)
{
	struct exposed *x = calloc(1, sizeof(*x));
	int err;

	if (!x)
		return -ENOMEM;
	x->enrich = enrich_system("");
	uname(&x->uts);
	err = helper_start(&x->helper, &reader, x, DEADLINE_NS);
	if (err) {
		free(x);
		return err;
	}
	*ret_exposed = x;
	return 0;
}

int exposed_attach(struct exposed *x, struct loop *loop, bool pins_stay)
{
	int err = helper_attach(x->helper, loop);

	if (err)
		return err;
	x->pins_stay = pins_stay;
	x->loop = loop;
	x->timer = loop_timer_new(loop, on_timer, x);
	if (x->timer < 0)
		return x->timer;
	loop_timer_set(loop, x->timer, 1);
	return 0;
}

const struct exposures *exposed_now(const struct exposed *x)
{
	return x && x->known ? &x->now : NULL;
}

void exposed_stop(struct exposed *x)
{
	if (!x)
		return;
	if (x->loop)
		loop_timer_set(x->loop, x->timer, 0);
	helper_stop(x->helper);
	free(x);
}
