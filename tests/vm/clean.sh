# SPDX-License-Identifier: BSD-2-Clause
# Between two suites of one boot (sourced by init, busybox sh): everything is as it was before the first.
#   clean_first   notes how it is
#   clean_up LAST ends, unloads and puts back what a suite left, and says PASS or FAIL left_behind in its results
# LAST: "yes" after the last suite. A suite need not tidy up its own files, modules, mounts and groups: that is undone here. It fails when pinwhy is still
# there, or anything of it (programs and pins of BPF, probes in tracefs): that is pinwhy's to remove. And it fails when
# something cannot be undone, since the next suite would find it.
# shellcheck shell=sh

LAB=/lab
TRACEFS=/sys/kernel/tracing

# Files that say how the kernel is to behave.
settings() {
	for setting in /proc/sys/kernel/kptr_restrict /proc/sys/kernel/bpf_stats_enabled /proc/sys/kernel/ftrace_enabled \
		/proc/sys/kernel/unprivileged_bpf_disabled /proc/sys/kernel/perf_event_paranoid /proc/sys/kernel/core_pattern \
		/proc/sys/kernel/dmesg_restrict /proc/sys/kernel/io_uring_disabled /proc/sys/net/core/bpf_jit_enable \
		/proc/sys/vm/max_map_count /proc/sys/vm/overcommit_memory /proc/sys/vm/swappiness \
		/proc/sys/vm/nr_overcommit_hugepages /proc/sys/vm/unprivileged_userfaultfd /proc/sys/user/max_user_namespaces \
		/sys/kernel/debug/kprobes/enabled "$TRACEFS/tracing_on" /sys/kernel/mm/ksm/run \
		/sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag \
		/sys/kernel/mm/hugepages/*/nr_hugepages /sys/devices/system/node/node*/hugepages/*/nr_hugepages; do
		[ ! -r "$setting" ] || echo "$setting" "$(sed 's/.*\[\(.*\)\].*/\1/' "$setting")"
	done
}
module_names() { cut -d ' ' -f 1 /proc/modules; }
mounts() { cut -d ' ' -f 2 /proc/mounts; }

clean_first() {
	settings >$LAB/settings
	module_names >$LAB/modules
	mounts >$LAB/mounts
	stat -c %a /dev/infiniband/uverbs0 >$LAB/uverbs_mode
	find /sys/fs/bpf -mindepth 1 >$LAB/bpf_pins
	# What only the loop of tests needs is not taken down each time: a pageblock that was left behind as CMA once must not
	# be left behind again.
	! grep -q ' pinhold\.cma_blocks=' /proc/cmdline || echo pinhold >>$LAB/modules
}

# --- what pinwhy has left ---

# Processes of pinwhy: the helper and the waiting ones have names of their own. One that has ended has no command line.
pinwhy_processes() {
	for comm in /proc/[0-9]*/comm; do
		{ read -r name <"$comm"; } 2>/dev/null || continue
		case $name in
		pinwhy*) [ -z "$(tr -d '\0' <"${comm%comm}cmdline" 2>/dev/null)" ] || echo "$name" ;;
		esac
	done
}
no_processes() { [ -z "$(pinwhy_processes)" ]; }

bpf_programs_gone() { [ -z "$(/tests/bin/progruns 2>/dev/null)" ]; }
probes() { cat "$TRACEFS/kprobe_events" "$TRACEFS/uprobe_events" /sys/kernel/debug/kprobes/list 2>/dev/null; }
# Under lockdown "confidentiality" nobody may write to tracefs, and those that were there stay, disabled.
no_probes() { grep -q '\[confidentiality\]' /sys/kernel/security/lockdown || [ -z "$(probes)" ]; }

# within TIMES CMD...: so many looks, a tenth of a second apart: the kernel lets go of some things a little later.
within() {
	times=$1
	shift
	until "$@"; do
		times=$((times - 1))
		[ "$times" -gt 0 ] || return 1
		usleep 100000
	done
}

left() { echo "$*" >>/out/left_behind; }

pinwhy_left() {
	within 20 no_processes || left "processes: $(pinwhy_processes | xargs)"
	kill -KILL -1
	within 100 bpf_programs_gone || left "programs of BPF: $(/tests/bin/progruns | head -n 3 | tr '\n' ' ')"
	within 20 no_probes || left "probes: $(probes | head -n 3 | tr '\n' ' ')"
	find /sys/fs/bpf -mindepth 1 | grep -vxFf $LAB/bpf_pins | while read -r pin; do
		left "pinned in bpffs: $pin"
		rm -f "$pin"
	done
}

# --- what a suite may leave ---

trace_clean() {
	echo 0 >"$TRACEFS/events/enable"
	echo nop >"$TRACEFS/current_tracer"
	echo >"$TRACEFS/kprobe_events"
	echo >"$TRACEFS/uprobe_events"
	echo >"$TRACEFS/trace"
} 2>/dev/null

mounts_clean() {
	swapoff -a 2>/dev/null
	mounts | sed '1!G;h;$!d' | grep -vxFf $LAB/mounts | while read -r mounted; do umount "$mounted" || umount -l "$mounted"; done
	for loop in /sys/block/loop*/loop/backing_file; do
		[ ! -e "$loop" ] || { loop=${loop#/sys/block/}; losetup -d "/dev/${loop%%/*}"; }
	done
	for place in /tmp /dev/shm /mnt; do find "$place" -mindepth 1 -maxdepth 1 -exec rm -rf {} +; done
} 2>>/out/clean.log

groups() { find /sys/fs/cgroup -mindepth 1 -type d | sort -r; }
groups_clean() {
	for group in $(groups); do rmdir "$group"; done
	tr ' ' '\n' </sys/fs/cgroup/cgroup.subtree_control | while read -r word; do echo "-$word" >/sys/fs/cgroup/cgroup.subtree_control; done
} 2>>/out/clean.log

# Modules that have come, as far as nobody uses them; again while any goes. Not those of memory that the boot has set aside: once a
# namespace of it has been a DAX device, their counts stay up (suite pages).
modules_more() { module_names | grep -vxFf $LAB/modules | grep -vxE 'nd_e820|libnvdimm'; }
modules_clean() {
	for driver in /sys/bus/pci/devices/*/driver_override; do
		grep -q '(null)' "$driver" || echo >"$driver"
	done
	while more=$(modules_more); do
		for module in $more; do rmmod "$module"; done
		[ "$(modules_more)" != "$more" ] || break
	done
} 2>>/out/clean.log

settings_clean() {
	while read -r setting value; do echo "$value" >"$setting"; done <$LAB/settings
} 2>/dev/null

# The RDMA device, whose modules a suite may have unloaded.
network_clean() {
	for module in $(module_names >/lab/now; grep -vxFf /lab/now $LAB/modules | sed '1!G;h;$!d'); do modprobe "$module"; done
	ip link show d0 >/dev/null || { ip link add d0 type dummy && ip addr add 192.0.2.1/24 dev d0; }
	ip link set d0 up
	[ -d /sys/class/infiniband/rxe0 ] || rdma link add rxe0 type rxe netdev d0
	chmod "$(cat $LAB/uverbs_mode)" /dev/infiniband/uverbs*
} 2>>/out/clean.log
rxe_active() { grep -q ACTIVE /sys/class/infiniband/rxe0/ports/1/state 2>/dev/null; }

# Whatever is still not as it was.
still_there() {
	[ "$(wc -l </proc/swaps)" -le 1 ] || echo "swap: $(tail -n 1 /proc/swaps)"
	for loop in /sys/block/loop*/loop/backing_file; do [ ! -e "$loop" ] || echo "$loop"; done
	for group in $(groups); do echo "control group $group"; done
	for mounted in $(mounts | grep -vxFf $LAB/mounts); do echo "mounted: $mounted"; done
	for module in $(modules_more); do echo "module $(grep "^$module " /proc/modules | cut -d ' ' -f 1-4)"; done
	settings | grep -vxFf $LAB/settings | while read -r setting value; do echo "$setting is $value"; done
	rxe_active || echo "the RDMA device rxe0 is not active"
}

# A process that was killed may hold its files for a moment yet.
put_back() {
	mounts_clean
	groups_clean
	modules_clean
	settings_clean
	network_clean
	still_there >$LAB/still_there
	[ ! -s $LAB/still_there ]
}

undo() {
	trace_clean
	within 20 put_back || cat $LAB/still_there >>/out/left_behind
	echo 3 >/proc/sys/vm/drop_caches
}

# clean_up LAST: after the last suite nobody needs what can be undone.
clean_up() {
	rm -f /out/left_behind
	pinwhy_left
	[ "$1" = yes ] || undo
	if [ -s /out/left_behind ]; then
		result "FAIL left_behind: $(tr '\n' ';' </out/left_behind)"
	else
		result "PASS left_behind"
	fi
}
