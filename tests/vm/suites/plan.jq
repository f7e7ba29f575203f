# Rows of tests/vm/hooks from what pinwhy doctor tells, running or planned: slot, way, target, module, why absent.
.slots[] | . as $s
| if (.state | IN("attached", "active", "planned")) then
    [.name, (.variant + (if .by != "" then "/" + .by else "" end)), .target, (if .module == "" then "-" else .module end), .note]
  else
    [.name, "-", "-", "-", .reason]
  end
| @tsv
