# SPDX-License-Identifier: BSD-2-Clause
# Shared by the expectations: an expectation is a list of named checks on one report.

# What is not true, missing or an error is a failed check.
def check(name; condition): {name: name, ok: ((try condition catch false) == true)};

def verdict_on(checks): {checked: (checks | length), failed: [checks[] | select(.ok | not) | .name]};

def filled: type == "string" and length > 0;

def hex: ltrimstr("0x") | explode | map(if . >= 97 then . - 87 else . - 48 end) | reduce .[] as $d (0; . * 16 + $d);

def covers_pages($t): (($t.address | hex) % 4096 + $t.length + 4095) / 4096 | floor;

# Attributes of an ioctl method are not laid out like a command: what it asked for is seen from the umem on only.
def told(value; $t): value == null and ($t.entry | startswith("UVERBS_")) and any(.missing_evidence[]; .what == "registration.address");

# What every report of a failed call says about it, whatever its cause and whoever pins.
def call($t; $name; $number):
	check("schema"; .schema == 1 or .schema == "1"),
	check("kind"; .kind == "registration_failed"),
	check("report_id"; .report_id | test("^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")),
	check("time"; .time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$")),
	check("pid"; .process.pid == $t.pid),
	check("comm"; .process.comm == $t.comm),
	check("address"; told(.registration.address; $t) or .registration.address == $t.address),
	check("length"; told(.registration.length; $t) or .registration.length == $t.length),
	check("errno"; .registration.errno == $number),
	check("errno_name"; .registration.errno_name == $name),
	check("duration"; .registration.duration_ns > 0),
	check("summary"; .verdict.summary | filled),
	check("evidence"; .verdict.evidence | length > 0 and all(filled)),
	check("remedies"; .verdict.remedies | length > 0 and all(filled)),
	# A length of nearly all addresses is the caller's own number.
	check("no_kernel_pointer"; if $t.length > 1e15 then true else tostring | test("0xffff[0-9a-f]{12}") | not end);

# A call that comes in by another command than that of ibv_reg_mr may be seen from the driver or the umem on only.
def outermost($t): if ($t.entry // "ibv_reg_mr") | startswith("ibv_") then "uverbs" else "uverbs|rxe|umem" end;

# The same of a failed registration with an RDMA device.
def registration($t; $name; $number):
	call($t; $name; $number),
	check("device"; .registration.device == $t.device),
	check("driver"; .registration.driver == "rdma_rxe"),
	check("access"; told(.registration.access; $t) or (([.registration.access[] | select(startswith("0x") | not)] | sort) == ($t.access | sort))),
	check("chain_ends_in_uverbs"; .chain | last | (.function | test(outermost($t))) and .errno_name == $name);

def is_verbs($t): $t.entry | test("^(ibv_|UVERBS_|IB_USER_)");

# A case of badreg: its errno is in the truth. Of one that was killed it is what the kernel returned.
def failed($t):
	if is_verbs($t) then registration($t; $t.errno_name; $t.errno) else call($t; $t.errno_name; $t.errno) end;

def stage($words): check("stage"; .registration.stage | IN($words[]));

# The text that a person reads.
def says($text): [.verdict.summary, .verdict.evidence[]] | any(contains($text));
def says_like($pattern): [.verdict.summary, .verdict.evidence[]] | any(test($pattern));

def no_pages:
	check("no_pages"; (.pages // []) == [] and (.pages_total // 0) == 0),
	check("no_first_pin"; .first_pin == null);

def cause($id): check("cause"; .verdict.cause == $id);
def proven: check("confidence"; .verdict.confidence == "proven");

def ruled_out($id): check("ruled_out_\($id)"; any(.ruled_out[]; .cause == $id and (.because | filled)));

# A cause that a number excludes says by which.
def excluded($id): check("ruled_out_\($id)"; any(.ruled_out[]; .cause == $id and (.because | test("[0-9]"))));

# What firmware answered, on its way through the driver's own function.
def answered($t):
	stage(["provider"]),
	check("opcode"; .provider.fw_opcode == $t.opcode),
	check("status"; .provider.fw_status == $t.status),
	check("syndrome"; .provider.syndrome == $t.syndrome),
	check("one_command"; .provider.commands_failed == 1),
	check("says_status"; says("status \($t.status)")),
	check("command_in_chain"; [.chain[].function] | index("cmd_status_err") != null and index("mlx5_core_create_mkey") != null);
