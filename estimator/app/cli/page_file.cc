#include "estimator/app/cli/page_file.h"

#include "estimator/app/cli/flag_groups.h"
#include "estimator/app/cli/messages.h"
#include "estimator/app/html/page.h"

namespace plimsoll::cli {

void add_page(const FlagSet& app, PageFlags& flags) {
  app.add_option("--html", flags.path, "write an HTML report with charts and tables")
      .type_name("FILE")
      .group(kOutputGroup);
  app.add_flag("--force", flags.force, "overwrite files that are there")
      .group(rarely(kOutputGroup));
}

int open_page(const PageFlags& flags, std::optional<OutputFile>& page,
              const std::vector<NamedFile>& read) {
  if (auto distinct = distinct_files({{"html", flags.path}}, read); !distinct)
    return report(distinct.error());
  if (flags.force && flags.path.empty() && !flags.others)
    report({warning("W516", "--force has no effect: only --html writes a file")});
  const auto opened = OutputFile::open_if_named(flags.path, flags.force, page);
  return opened ? 0 : report(opened.error());
}

int write_page(OutputFile& page, const std::string& html) {
  const auto written = page.write(html);
  if (!written) return report(written.error());
  if (!has_charts())
    report({note("N122", "the page has tables only: this build has no Vega, which draws charts")});
  return 0;
}

}  // namespace plimsoll::cli
