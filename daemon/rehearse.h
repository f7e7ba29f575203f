/* SPDX-License-Identifier: BSD-2-Clause */
/* Telling one made-up failure to nobody, so that all it takes is in memory before a real one. */
#ifndef PINWHY_REHEARSE_H
#define PINWHY_REHEARSE_H

#include "identity.h"

/* Runs a failure of the largest kind through a pipeline of its own. -ENOMEM. */
int rehearse(const struct identity *identity, const struct pipeline_settings *settings);

#endif
