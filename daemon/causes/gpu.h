/* SPDX-License-Identifier: BSD-2-Clause */
/* What causes of GPU memory's refusal have in common. */
#ifndef PINWHY_CAUSES_GPU_H
#define PINWHY_CAUSES_GPU_H

#include "diagnose.h"

/* What is known of BAR1, what is not, and what helps when it is full. */
void tell_bar1(const struct incident *in, struct finding *ret);
/* That the process had got no dma-buf of GPU memory before, if so. */
void tell_failed_export(const struct incident *in, struct finding *ret);

#endif
