/* What decoding photos comes to without a pipeline: files in memory, of which each thread takes the
 * next, has libjpeg-turbo decode it row by row, and resizes the rows to 224 x 224 by
 * runtime/decode. Arguments: the folder, and for how many seconds. Prints photos a second, and user
 * seconds for a million of them, as one line of JSON. */
#define _GNU_SOURCE
#include "runtime/decode/resize.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <jpeglib.h>

enum { PHOTO_LIMIT = 10000, THREAD_LIMIT = 1024, SIDE = 224, WIDTH_LIMIT = 65536 };

typedef struct Photo {
    unsigned char *bytes;
    size_t size;
} Photo;

static Photo photos[PHOTO_LIMIT];
static long photo_count;
static atomic_long next;
static double end;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double user_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6;
}

static void read_photo(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) exit(1);
    Photo *photo = &photos[photo_count++];
    photo->size = (size_t)ftell(file);
    photo->bytes = malloc(photo->size);
    rewind(file);
    if (!photo->bytes || fread(photo->bytes, 1, photo->size, file) != photo->size) exit(1);
    fclose(file);
}

static void read_folder(const char *folder) {
    DIR *listed = opendir(folder);
    if (!listed) exit(1);
    for (struct dirent *entry; (entry = readdir(listed)) && photo_count < PHOTO_LIMIT;)
        if (entry->d_name[0] != '.') read_photo(folder, entry->d_name);
    closedir(listed);
}

static void decode(struct jpeg_decompress_struct *image, const Photo *photo, Desk *desk,
                   unsigned char *row, unsigned char *to) {
    jpeg_mem_src(image, photo->bytes, photo->size);
    jpeg_read_header(image, TRUE);
    bool inks = image->num_components == 4;
    image->out_color_space = inks ? JCS_CMYK : JCS_EXT_RGBA;
    jpeg_start_decompress(image);
    ResizeRequest request = {.down = {image->output_height, 0, SIDE, 0, SIDE},
                             .across = {image->output_width, 0, SIDE, 0, SIDE},
                             .method = FLOW_METHOD_bilinear,
                             .antialias = true,
                             .channels = 3};
    Resizing resizing;
    if (!resize_begin(desk, &request, to, &resizing)) exit(1);
    for (JDIMENSION y = 0; y < image->output_height; y++) {
        jpeg_read_scanlines(image, &row, 1);
        resize_take(&resizing, y, row);
    }
    jpeg_finish_decompress(image);
}

static void *work(void *unused) {
    static _Thread_local unsigned char row[WIDTH_LIMIT * 4], pixels[SIDE * SIDE * 3];
    struct jpeg_decompress_struct image;
    struct jpeg_error_mgr errors;
    image.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&image);
    while (now() < end)
        decode(&image, &photos[atomic_fetch_add(&next, 1) % photo_count], desk_of_thread(), row + 8,
               pixels);
    jpeg_destroy_decompress(&image);
    return unused;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    read_folder(arguments[1]);
    cpu_set_t cores;
    sched_getaffinity(0, sizeof cores, &cores);
    int threads = CPU_COUNT(&cores);
    pthread_t running[THREAD_LIMIT];
    double begin = now(), user = user_seconds();
    end = begin + atof(arguments[2]);
    for (int i = 0; i < threads; i++) pthread_create(&running[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
    double photos_done = (double)next;
    printf("{\"rate\": %.1f, \"user\": %.3f, \"threads\": %d}\n", photos_done / (now() - begin),
           (user_seconds() - user) / photos_done * 1e6, threads);
}
