// Tables of runs that experiment trackers export as CSV, read as measured runs: MLflow's
// (mlflow.search_runs().to_csv(), `mlflow experiments csv`: columns run_id, params.NAME,
// metrics.NAME) and the runs table of Weights & Biases (columns Name, State and the names of config
// and summary). A column is read where its name says what it is and in which unit; the rest are
// notes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

class TrackerTable {
 public:
  // Of a header; false in is_export() where it is neither's.
  explicit TrackerTable(const std::vector<std::string>& header);

  bool is_export() const { return !tracker_.empty(); }

  // The header with the keys of measured runs in place of the columns that are read. Two columns of
  // one key: the one whose name says more; the other is a note.
  const std::vector<std::string>& columns() const { return columns_; }

  // A row's cells in the units of those keys; one that says nothing becomes empty. A run that did
  // not finish says so by the key run_failed, for which validate() skips it.
  void translate(std::vector<std::string>& cells) const;

  // "Weights & Biases: config.batch_size is batch, ...": what was read as what.
  std::string described() const;

 private:
  std::string_view tracker_;
  std::vector<std::string> header_, columns_;
  std::vector<bool> read_;
  std::vector<const struct OtherName*> rows_;  // of each column; null: a key of its own, or a note
};

}  // namespace plimsoll
