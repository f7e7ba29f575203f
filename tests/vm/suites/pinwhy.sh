# SPDX-License-Identifier: BSD-2-Clause
# Functions for suites (busybox sh) that watch with pinwhy: source it after lib.sh. Names that a
# change of the program's interface would touch (metrics, config keys) are all in this file.
# shellcheck shell=sh
# shellcheck disable=SC2034  # some variables are for the suite that sources this file

PINWHY_ADDRESS=127.0.0.1:9835
PINWHY_REPORTS=$OUT/reports.jsonl
BIN=/tests/bin
pinwhy_starts=0
pinwhy_pid=0 pinwhy_log=/dev/null

# pinwhy_launch COMMAND...: runs it in the background as the instance the other functions mean.
pinwhy_launch() {
	pinwhy_starts=$((pinwhy_starts + 1))
	pinwhy_log=$OUT/pinwhy-$pinwhy_starts.log
	"$@" >"$OUT/pinwhy-$pinwhy_starts.stdout" 2>"$pinwhy_log" &
	pinwhy_pid=$!
}

# The word avoid=HOW,... among the suite's arguments or on the kernel command line keeps pinwhy from hooking that way,
# so that a suite runs again with the fallbacks.
pinwhy_avoid=$(echo " ${SUITE_ARGS-} $(cat /proc/cmdline)" | sed -n 's/.*[ ,]avoid=\([a-z0-9_:,]*\).*/\1/p')

# Adds the ways to avoid to the configuration file among the arguments, or makes one.
avoid_config() {
	while [ $# -gt 1 ]; do
		[ "$1" != -c ] || { printf '[attach]\navoid = %s\n' "$pinwhy_avoid" >>"$2"; return; }
		shift
	done
	printf '[attach]\navoid = %s\n' "$pinwhy_avoid" >/tmp/avoid.conf
	echo "-c /tmp/avoid.conf"
}

# pinwhy_start ARGS...: starts it and waits for READY. A death before that is a failure.
pinwhy_start() {
	# shellcheck disable=SC2046 # two words or none
	[ -z "$pinwhy_avoid" ] || set -- "$@" $(avoid_config "$@")
	pinwhy_launch pinwhy run --reports "$PINWHY_REPORTS" --listen "$PINWHY_ADDRESS" "$@"
	wait_until 120 pinwhy_ready_or_dead && pinwhy_ready
}

pinwhy_alive() { kill -0 "$pinwhy_pid" 2>/dev/null; }
pinwhy_said_ready() { grep -q READY "$pinwhy_log"; }
pinwhy_ready_or_dead() { pinwhy_said_ready || ! pinwhy_alive; }
pinwhy_readyz() { "$BIN/lab" get "$PINWHY_ADDRESS" /readyz >/dev/null; }
pinwhy_ready() { pinwhy_alive && pinwhy_said_ready && pinwhy_readyz; }

# Is every slot that must not be hooked one way hooked another way, if it is to be hooked at all?
avoided_truly() {
	for word in $(echo "$pinwhy_avoid" | tr , ' '); do
		[ "$(slot_state "${word%:*}")" != disabled ] || continue
		case $word in
		*:*)
			pinwhy_scrape | grep "^pinwhy_slot_info{slot=\"${word%:*}\"" | grep -qv "variant=\"${word#*:}\"" ||
				{ echo "$word"; return 1; }
			;;
		esac
	done
}

# need_pinwhy NAME ARGS...: starts it as a test of its own; the suite ends when that fails.
need_pinwhy() {
	need_name=$1
	shift
	if ! pinwhy_start "$@"; then
		fail "$need_name" "pinwhy did not get ready: $(tail -n 1 "$pinwhy_log")"
		done_testing
	fi
	pass "$need_name"
	[ -z "$pinwhy_avoid" ] || check "${need_name}_avoids" avoided_truly
}

pinwhy_dead() { ! pinwhy_alive; }

# pinwhy_stop: SIGTERM, and its exit code.
pinwhy_stop() {
	kill -TERM "$pinwhy_pid" 2>/dev/null
	wait_until 30 pinwhy_dead || kill -KILL "$pinwhy_pid"
	wait "$pinwhy_pid"
}

pinwhy_scrape() { "$BIN/lab" get "$PINWHY_ADDRESS" /metrics; }

# pinwhy_metric NAME [LABEL="VALUE"]...: the sum of all series of the metric that carry the labels.
# A metric that is not there at all is an error, so that a wrong name never reads as 0.
pinwhy_metric() { "$BIN/lab" metric "$PINWHY_ADDRESS" "$@"; }

registrations_ok() { pinwhy_metric pinwhy_registrations_total 'result="ok"'; }
registrations_failed() { pinwhy_metric pinwhy_registrations_total 'result="failed"'; }

# "slot state" for each slot of the running instance.
slot_states() { "$BIN/lab" slots "$PINWHY_ADDRESS"; }
slot_state() { slot_states | awk -v slot="$1" '$1 == slot { print $2 }'; }
slot_attached() { case $(slot_state "$1") in attached | active) ;; *) return 1 ;; esac; }

# What a slot that may be absent needs: with all of this in the kernel it must be attached all the same.
slot_symbols() {
	case $1 in
	nv_* | armed_* | cma_* | putback | migrate_* | collect | trace_* | stale_*) echo bpf_loop ;;
	esac
	case $1 in
	armed_exit) ;;
	armed_*) echo register_ftrace_direct ;;
	esac
	case $1 in
	putback | migrate_* | trace_* | stale_*) ;;
	collect) echo collect_longterm_unpinnable_folios ;;
	reg_mr_ioctl_*) echo ib_uverbs_handler_UVERBS_METHOD_REG_MR ;;
	vfio_map_*) echo vfio_iommu_type1_ioctl ;;
	devx_umem_*) echo mlx5_ib_handler_MLX5_IB_METHOD_DEVX_UMEM_REG ;;
	nv_unlock) echo os_unlock_user_pages ;;
	nv_*) echo os_lock_user_pages ;;
	peer_pages_*) echo nvidia_p2p_get_pages ;;
	peer_persistent_*) echo nvidia_p2p_get_pages_persistent ;;
	peer_acquire_exit) echo nv_mem_acquire ;;
	peer_acquire_nc_exit) echo nv_mem_acquire_nc ;;
	dmabuf_nv_*_exit) echo "$1" | sed 's/^dmabuf_nv_\(.*\)_exit$/nv_dma_buf_\1/' ;;
	umem_dmabuf_*) echo ib_umem_dmabuf_get ;;
	umem_peer_*) echo ib_umem_get_peer ;;
	reg_dmabuf_*) echo ib_uverbs_handler_UVERBS_METHOD_REG_DMABUF_MR ;;
	user_account_*) echo __io_account_mem ;;
	cma_*) echo __traceiter_cma_alloc_finish ;;
	armed_unpin_user_folio | armed_unpin_folio | armed_unpin_folios) echo "${1#armed_}" ;;
	mkey_exit) echo mlx5_core_create_mkey ;;
	fw_command) echo cmd_status_err ;;
	driver_reg_mr_exit) echo no_function_is_set ;;
	# Where the compiler split it (5.10) it is not hooked, since calls may go past it.
	fork_madvise_*) ! grep -q ' do_madvise\.part\.' /proc/kallsyms || echo no_function_is_whole ;;
	efa_reg_mr_exit) echo efa_reg_mr ;;
	hns_roce_hw_v2_reg_mr_exit) echo hns_roce_reg_user_mr ;;
	mana_ib_reg_mr_exit | bnxt_re_reg_mr_exit | irdma_reg_mr_exit | erdma_reg_mr_exit | siw_reg_mr_exit | mlx[45]_ib_reg_mr_exit)
		echo "${1%_reg_mr_exit}_reg_user_mr"
		;;
	*) ;; # nothing: this one may not be absent
	esac
}

# Slots whose functions are all in this kernel, in /tmp/slots.must: read anew only when modules have come or gone.
slots_must() {
	cut -d ' ' -f 1 /proc/modules >/tmp/slots.now
	cmp -s /tmp/slots.now /tmp/slots.key && return
	slot_states | while read -r slot _; do
		# shellcheck disable=SC2046 # several words
		echo "$slot" $(slot_symbols "$slot")
	done >/tmp/slots.symbols
	"$BIN/lab" symbols </tmp/slots.symbols >/tmp/slots.must
	# Of an instance that does not answer yet nothing is learned.
	[ ! -s /tmp/slots.must ] || mv /tmp/slots.now /tmp/slots.key
}

# Slots that are not as they must be: all attached, but those on demand and those whose function is not there. The states
# are left in /tmp/slots.states.
slots_amiss() {
	slots_must
	[ -s /tmp/slots.must ] || { echo "no slots are told"; return; }
	slot_states >/tmp/slots.states
	awk '
		FNR == NR { must[$1]; next }
		$2 == "attached" || $2 == "active" || ($2 == "absent" && !($1 in must)) { next }
		$2 == "disabled" && /^(dma_map_exit|pin_fast_|fork_madvise_|stale_|trace_|armed_)/ { next }
		{ print }' /tmp/slots.must /tmp/slots.states
}

all_slots_attached() {
	slots_amiss >/tmp/slots.amiss
	cat /tmp/slots.amiss
	[ ! -s /tmp/slots.amiss ] && grep -qE '^reg_mr_exit (attached|active)$' /tmp/slots.states
}

# What cannot be without bpf_loop() says so where it is asked for, and does nothing.
NO_LOOPS="this kernel has no bpf_loop()"
SAYS_NO_LOOPS="needs bpf_loop(), since Linux 5.17"
# absent_without_loops PREFIX: doctor's word on all slots that are called so.
absent_without_loops() {
	pinwhy doctor --json >"$OUT/doctor.json" 2>/dev/null
	expect_true "absent_$1" "$OUT/doctor.json" "[.slots[] | select(.name | startswith(\"$1\"))]
		| length > 0 and all(.[]; .state == \"absent\" and .reason == \"$SAYS_NO_LOOPS\")"
}
# refused_without_loops CODE COMMAND...
refused_without_loops() {
	refused_wanted=$1
	shift
	"$@" >/tmp/refused 2>&1 </dev/null
	refused_code=$?
	cat /tmp/refused
	echo "exit $refused_code"
	[ "$refused_code" -eq "$refused_wanted" ] && grep -qF "$SAYS_NO_LOOPS" /tmp/refused
}

# How many reports there are, of all kinds or of kind $1.
reports_count() {
	[ -f "$PINWHY_REPORTS" ] || { echo 0; return; }
	if [ $# -eq 0 ]; then
		wc -l <"$PINWHY_REPORTS"
	else
		grep -c "\"kind\": *\"$1\"" "$PINWHY_REPORTS" || true
	fi
}
reports_reach() { [ "$(reports_count)" -ge "$1" ]; }
kind_reaches() { [ "$(reports_count "$1")" -ge "$2" ]; }
report_at() { sed -n "${1}p" "$PINWHY_REPORTS"; }
last_of_kind() { grep "\"kind\": *\"$1\"" "$PINWHY_REPORTS" | tail -n 1; }

# play_begin FILE PROGRAM OPTIONS...: a scenario program that prints FILE.json and then stays, so that
# facts about it can still be read. play_end lets it go.
play_begin() {
	play_file=$1
	shift
	[ -p /tmp/play.fifo ] || mkfifo /tmp/play.fifo
	"$@" --stay </tmp/play.fifo >"$play_file.json" 2>"$play_file.err" &
	play_pid=$!
	exec 3>/tmp/play.fifo
	wait_until "${PLAY_LIMIT:-120}" play_told
}
play_told() { grep -q as_expected "$play_file.json" || ! kill -0 "$play_pid"; }

# play_end NAME: says how the scenario itself went.
play_end() {
	exec 3>&-
	wait "$play_pid"
	play_code=$?
	case $play_code in
	0) pass "outcome_$1" ;;
	1) fail "outcome_$1" "the kernel did something else: $(cat "$play_file.json")" ;;
	77) skip "outcome_$1" "$(tail -n 1 "$play_file.err")" ;;
	*) fail "outcome_$1" "not played (exit $play_code): $(tail -n 1 "$play_file.err")" ;;
	esac
	return "$play_code"
}

# The word pinhold.cma_blocks=N on the kernel command line leaves pageblocks behind as CMA of no area, as kexec handover
# does: what the module that does it is to be told.
left_cma() { sed -n 's/.* pinhold\.\(cma_blocks=[0-9]*\).*/\1/p' /proc/cmdline; }

movable_zone() { awk '/^Node/ { movable = /Movable/ } movable && $1 == "present" { n += $2 } END { exit !(n > 0) }' /proc/zoneinfo; }

# The area of this boot that a long-term pin must leave, by the kernel's own tables: cma, movable or none.
boot_area() {
	if [ -n "$(left_cma)" ] || awk '$1 == "CmaTotal:" { kib = $2 } END { exit !(kib > 0) }' /proc/meminfo; then
		echo cma
	elif pins_leave_movable && movable_zone; then
		echo movable
	else
		echo none
	fi
}

# Settings: every failure gets a report of its own, however often it repeats, and facts the milliseconds that an
# emulated processor beside a busy one may need for them.
no_folding() { no_folding_within 3000; }
no_folding_within() {
	printf '[storm]\nburst = 10000\nsignatures = 4096\ncgroup_reports = 1000000\n[facts]\ndeadline_ms = %s\n' "$1"
}
stuck_after() { printf '[stuck]\nafter_ms = %s\n' "$1"; }
small_ring() { printf '[ring]\nbytes = 4096\n'; }
big_ring() { printf '[ring]\nbytes = 16777216\n'; }

# Modules that the scenario programs need.
# shellcheck disable=SC2046 # one word or none
scenario_modules() {
	modprobe configfs 2>/dev/null
	modprobe null_blk nr_devices=1 gb=4 &&
		modprobe dm_mod && modprobe dm_delay &&
		{ [ -c /dev/pinhold ] || insmod /tests/kmod/pinhold.ko $(left_cma); }
}
