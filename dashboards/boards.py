#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""boards.py: writes fleet.json and node.json, the dashboards for Grafana, from the tables below.

`boards.py --queries` prints one JSON object per query instead: {board, panel, ref, expr}. The files are checked in; a test
compares them with what this writes.
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = {"type": "prometheus", "uid": "${datasource}"}

# (kind, width in 24ths, title, unit, description, [(query, legend)])
FLEET = [
    ("stat", 6, "Nodes that are watched", "none", "Agents whose hooks are attached.", [("sum(pinwhy_ready)", "watched")]),
    ("stat", 6, "Nodes that are not", "none", "Agents that answer and have no hook attached, or lost some.",
     [("sum((pinwhy_ready == bool 0) or (pinwhy_hooks_healthy == bool 0))", "blind")]),
    ("stat", 6, "Registrations that do not come back", "none", "Reported as stuck and not ended since.",
     [("sum(pinwhy_stuck_reported_total - pinwhy_stuck_ended_total)", "stuck")]),
    ("stat", 6, "Pages stranded by first pins", "none", "Registrations of these pages will fail.",
     [("sum(pinwhy_stranded_pages)", "pages")]),
    ("table", 12, "Which causes", "none", "Reports in the time shown. pinwhy causes ID tells all about one.",
     [('sort_desc(sum by (cause, confidence) (increase(pinwhy_reports_total{cause!="none",cause=~"$cause"}[$__range])) > 0)', "")]),
    ("table", 12, "On which nodes", "none", "The same by node.",
     [('sort_desc(sum by (instance, cause) (increase(pinwhy_reports_total{cause!="none",cause=~"$cause"}[$__range])) > 0)', "")]),
    ("timeseries", 12, "Since when", "none", "Reports by cause.",
     [('sum by (cause) (increase(pinwhy_reports_total{cause!="none",cause=~"$cause"}[$__rate_interval])) > 0', "{{cause}}")]),
    ("timeseries", 12, "Nodes with each cause", "none", "A rollout shows as a step.",
     [('count by (cause) (sum by (instance, cause) (increase(pinwhy_reports_total{cause!="none",cause=~"$cause"}[30m])) > 0)',
       "{{cause}}")]),
    ("table", 12, "On which kernels", "none", "Reports by the kernel's release.",
     [('sort_desc(sum by (kernel, cause) (increase(pinwhy_reports_total{cause!="none",cause=~"$cause"}[$__range])'
       ' * on (instance) group_left (kernel) pinwhy_node_info) > 0)', "")]),
    ("timeseries", 12, "Failed registrations", "ops", "As the kernel counts them, by the call. Exact, whatever reports were folded.",
     [('sum by (api) (rate(pinwhy_registrations_total{result="failed"}[$__rate_interval])) > 0', "{{api}}")]),
    ("timeseries", 12, "Stranded pages", "none", "By the driver that pinned them.",
     [("sum by (driver) (pinwhy_stranded_pages)", "{{driver}}")]),
    ("table", 12, "Hooks that failed", "none", "pinwhy doctor on the node says why.",
     [('pinwhy_slot_state{state=~"load_failed|attach_failed"} == 1', "")]),
]
NODE = [
    ("stat", 6, "Watching", "bool_yes_no", "Hooks are attached.", [('pinwhy_ready{instance="$instance"}', "ready")]),
    ("stat", 6, "In flight", "none", "Registrations at the last look.", [('pinwhy_spans_in_flight{instance="$instance"}', "in flight")]),
    ("stat", 6, "Do not come back", "none", "Reported as stuck and not ended since.",
     [('pinwhy_stuck_reported_total{instance="$instance"} - pinwhy_stuck_ended_total{instance="$instance"}', "stuck")]),
    ("stat", 6, "Stranded pages", "none", "Registrations of these pages will fail.",
     [('sum(pinwhy_stranded_pages{instance="$instance"})', "pages")]),
    ("table", 12, "Why registrations failed", "none", "Reports in the time shown. pinwhy explain on the node has them in words.",
     [('sort_desc(sum by (cause, confidence) (increase(pinwhy_reports_total{instance="$instance",cause!="none"}[$__range])) > 0)', "")]),
    ("timeseries", 12, "Registrations", "ops", "By call and result, exact.",
     [('sum by (api, result) (rate(pinwhy_registrations_total{instance="$instance"}[$__rate_interval])) > 0', "{{api}} {{result}}")]),
    ("timeseries", 12, "First pins", "none", "Held now, and the pages of theirs that are stranded.",
     [('pinwhy_first_pins_held{instance="$instance"}', "held"),
      ('sum by (driver) (pinwhy_stranded_pages{instance="$instance"})', "stranded by {{driver}}")]),
    ("timeseries", 12, "Contiguous allocations that failed", "none", "From CMA areas, and those where a first pin was in the way.",
     [('increase(pinwhy_cma_alloc_failures_total{instance="$instance"}[$__rate_interval])', "failed"),
      ('increase(pinwhy_cma_alloc_pinned_ranges_total{instance="$instance"}[$__rate_interval])', "pinned ranges")]),
    ("table", 12, "Hooks", "none", "State of each.",
     [('pinwhy_slot_state{instance="$instance",state!~"attached|active"} == 1', "")]),
    ("timeseries", 12, "Not seen", "none", "Events that the ring had no room for, and runs that the kernel missed.",
     [('sum by (kind) (increase(pinwhy_events_dropped_total{instance="$instance"}[$__rate_interval])) > 0', "dropped {{kind}}"),
      ('sum by (slot) (increase(pinwhy_slot_missed_total{instance="$instance"}[$__rate_interval])) > 0', "missed {{slot}}")]),
    ("timeseries", 12, "Reports on their way", "none", "Waiting in each sink, and lost.",
     [('pinwhy_sink_queued{instance="$instance"}', "waiting for {{sink}}"),
      ('increase(pinwhy_sink_dropped_total{instance="$instance"}[$__rate_interval])', "lost for {{sink}}")]),
    ("timeseries", 6, "Memory of the agent", "bytes", "Resident.",
     [('process_resident_memory_bytes{instance="$instance",job="pinwhy"}', "resident"),
      ('pinwhy_bpf_map_bytes{instance="$instance"}', "BPF maps")]),
    ("timeseries", 6, "Processor time of the agent", "percentunit", "Of one processor.",
     [('rate(process_cpu_seconds_total{instance="$instance",job="pinwhy"}[$__rate_interval])', "used")]),
]
BOARDS = {
    "fleet": ("pinwhy-fleet", "pinwhy: fleet", FLEET, [("cause", "label_values(pinwhy_reports_total, cause)", True)]),
    "node": ("pinwhy-node", "pinwhy: node", NODE, [("instance", "label_values(pinwhy_ready, instance)", False)]),
}
HEIGHT = {"stat": 4, "table": 9, "timeseries": 8}


def panel(number, row, x, y):
    kind, width, title, unit, description, queries = row
    targets = [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expr, "legendFormat": legend,
                "instant": kind != "timeseries", "range": kind == "timeseries",
                "format": "table" if kind == "table" else "time_series"} for i, (expr, legend) in enumerate(queries)]
    out = {"id": number, "type": kind, "title": title, "description": description, "datasource": SOURCE, "targets": targets,
           "gridPos": {"x": x, "y": y, "w": width, "h": HEIGHT[kind]}, "fieldConfig": {"defaults": {"unit": unit}, "overrides": []}}
    if kind == "table":
        out["transformations"] = [{"id": "organize", "options": {"excludeByName": {"Time": True, "__name__": True, "job": True}}}]
    return out


def layout(rows):
    panels, x, y, tallest = [], 0, 0, 0
    for number, row in enumerate(rows, 1):
        if x + row[1] > 24:
            x, y, tallest = 0, y + tallest, 0
        panels.append(panel(number, row, x, y))
        x, tallest = x + row[1], max(tallest, HEIGHT[row[0]])
    return panels


def variable(name, query, several):
    return {"name": name, "type": "query", "datasource": SOURCE, "query": query, "refresh": 2, "sort": 1,
            "multi": several, "includeAll": several, "allValue": ".*" if several else None}


def board(name):
    uid, title, rows, variables = BOARDS[name]
    source = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
    return {"uid": uid, "title": title, "tags": ["pinwhy"], "schemaVersion": 38, "version": 1, "editable": True, "timezone": "",
            "time": {"from": "now-6h", "to": "now"}, "refresh": "1m",
            "templating": {"list": [source] + [variable(*v) for v in variables]}, "panels": layout(rows)}


def main():
    for name in BOARDS:
        if sys.argv[1:] == ["--queries"]:
            for p in board(name)["panels"]:
                for t in p["targets"]:
                    print(json.dumps({"board": name, "panel": p["title"], "ref": t["refId"], "expr": t["expr"]}))
            continue
        with open(os.path.join(sys.argv[1] if len(sys.argv) > 1 else HERE, name + ".json"), "w") as f:
            json.dump(board(name), f, indent=1, ensure_ascii=False)
            f.write("\n")


if __name__ == "__main__":
    main()
