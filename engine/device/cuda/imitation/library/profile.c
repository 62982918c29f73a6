/* The GPU of this process, as its environment says. */
#include "imitation.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static profile the = {
	.title = "NVIDIA H100 80GB HBM3",
	.total = 85045411840ull, .context = 524288000ull,
	.l2 = 52428800, .shared_per_processor = 233472, .shared_optin = 232448, .shared_reserved = 1024,
	.major = 9, .minor = 0, .processors = 132,
	.threads_per_processor = 2048, .blocks_per_processor = 32, .registers_per_processor = 65536,
	.devices = 1, .channels = 24, .cuda = 13000, .cudnn = 92600, .nccl = 22707,
};

static const struct {
	const char *key;
	void *value;
	size_t size; /* 0 for text */
} figures[] = {
	{"title", the.title, 0},
	{"total", &the.total, 8}, {"context", &the.context, 8}, {"l2", &the.l2, 8},
	{"shared_per_processor", &the.shared_per_processor, 8}, {"shared_optin", &the.shared_optin, 8}, {"shared_reserved", &the.shared_reserved, 8},
	{"major", &the.major, 4}, {"minor", &the.minor, 4}, {"processors", &the.processors, 4},
	{"threads_per_processor", &the.threads_per_processor, 4}, {"blocks_per_processor", &the.blocks_per_processor, 4},
	{"registers_per_processor", &the.registers_per_processor, 4},
	{"devices", &the.devices, 4}, {"endless", &the.endless, 4}, {"channels", &the.channels, 4},
	{"cuda", &the.cuda, 4}, {"cudnn", &the.cudnn, 4}, {"nccl", &the.nccl, 4},
};

static void set(const char *key, size_t length, const char *value, size_t value_length)
{
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		if (strlen(figures[i].key) != length || memcmp(figures[i].key, key, length))
			continue;
		if (figures[i].size == 0)
			snprintf(figures[i].value, sizeof the.title, "%.*s", (int)value_length, value);
		else if (figures[i].size == 8)
			*(uint64_t *)figures[i].value = strtoull(value, NULL, 10);
		else
			*(int *)figures[i].value = atoi(value);
	}
}

/* read_figures takes key=value;key=value... */
static void read_figures(const char *text)
{
	while (text && *text) {
		size_t whole = strcspn(text, ";"), key = strcspn(text, "=");
		if (key < whole)
			set(text, key, text + key + 1, whole - key - 1);
		text += whole;
		text += *text == ';';
	}
}

static int places[most_devices]; /* by device */

int place_of(int device) { return gpu() && device >= 0 && device < most_devices ? places[device] : device; }

/* place reads a number, or an identifier as nvml.c gives it; other ones are taken in their order. */
static int place(const char *text, int index)
{
	int number = index;
	if (sscanf(text, "GPU-6d%2x", (unsigned *)&number) == 1)
		number--;
	else
		sscanf(text, "%d", &number);
	return number < most_devices ? number : index;
}

/* visible_devices counts those that CUDA_VISIBLE_DEVICES leaves. */
static int visible_devices(int all)
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");
	int count = 0;
	for (int i = 0; i < most_devices; i++)
		places[i] = i;
	if (!text)
		return all;
	while (*text && !(*text == '-' && text[1] == '1') && count < all) {
		places[count] = place(text, count);
		if (places[count] >= the.places)
			the.places = places[count] + 1;
		count++;
		text += strcspn(text, ",");
		text += *text == ',';
	}
	return count;
}

static void begin(void)
{
	read_figures(getenv("MEMTOP_IMITATED_GPU"));
	read_figures(getenv("MEMTOP_IMITATED_VERSIONS"));
	if (the.devices > most_devices)
		the.devices = most_devices;
	the.places = the.devices;
	the.devices = visible_devices(the.devices);
}

const profile *gpu(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, begin);
	return &the;
}
