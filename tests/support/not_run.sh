# not_run WHY: ends a script of tests that cannot be run here, as not_run.h ends a test.
not_run() {
  [ "${PLIMSOLL_REQUIRE_ALL:-}" != 1 ] || { echo "FAILED: PLIMSOLL_REQUIRE_ALL, and this cannot be run: $1"; exit 1; }
  echo "not run: $1 | $(basename "$0")"
  exit 0
}
