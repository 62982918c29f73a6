// Convolution as a product of matrices: a band of output rows of one image and
// one group is unfolded, so that row (channel, tap) has, for every output element
// of the band, the input element that this tap meets, or 0.
#include "number.h"

// ConvArgs is one band. x is the group of the image; unfolded is
// [channels · taps, rows · out_width].
struct ConvArgs {
    Array x, unfolded;
    i64 channels, in_height, in_width, out_width;
    i64 row, rows; // of the output
    i64 kernel_height, kernel_width, stride_height, stride_width, pad_height, pad_width, dilate_height, dilate_width;
    i32 last; // of fold: the band is the image's last
    i32 begins; // of fold: it is the first
    Array sums; // of fold, from earlier bands
};

KERNEL(unfold, ConvArgs, 256) {
    i64 i = (i64)block_x() * block_size() + thread_id();
    if (i >= a.unfolded.len) return;
    i64 x = i % a.out_width, rest = i / a.out_width, y = rest % a.rows + a.row, line = rest / a.rows;
    i64 kx = line % a.kernel_width, ky = line / a.kernel_width % a.kernel_height, channel = line / (a.kernel_width * a.kernel_height);
    y = y * a.stride_height - a.pad_height + ky * a.dilate_height;
    x = x * a.stride_width - a.pad_width + kx * a.dilate_width;
    bool inside = y >= 0 && y < a.in_height && x >= 0 && x < a.in_width;
    element<float>(a.unfolded, i) = inside ? load<float>(a.x, (channel * a.in_height + y) * a.in_width + x) : 0.0f;
}

// fold has a thread for every input element, which adds the band's values of the
// taps that met it to the sum of earlier bands.
KERNEL(fold, ConvArgs, 256) {
    i64 i = (i64)block_x() * block_size() + thread_id();
    if (i >= a.channels * a.in_height * a.in_width) return;
    i64 x = i % a.in_width, y = i / a.in_width % a.in_height, channel = i / (a.in_width * a.in_height);
    float sum = a.begins ? 0.0f : element<float>(a.sums, i);
    for (i64 ky = 0; ky < a.kernel_height; ky++) {
        i64 row = y + a.pad_height - ky * a.dilate_height;
        if (row < 0 || row % a.stride_height != 0) continue;
        row = row / a.stride_height - a.row;
        if (row < 0 || row >= a.rows) continue;
        for (i64 kx = 0; kx < a.kernel_width; kx++) {
            i64 col = x + a.pad_width - kx * a.dilate_width;
            if (col < 0 || col % a.stride_width != 0 || col / a.stride_width >= a.out_width) continue;
            i64 line = (channel * a.kernel_height + ky) * a.kernel_width + kx;
            sum += element<float>(a.unfolded, (line * a.rows + row) * a.out_width + col / a.stride_width);
        }
    }
    if (a.last) store(a.x, i, sum);
    else element<float>(a.sums, i) = sum;
}

// AddChannelArgs adds the bias of its channel to every element of y, which is
// [images, channels, size].
struct AddChannelArgs {
    Array y, bias;
    i64 size;
};

KERNEL(add_channel, AddChannelArgs, 256) {
    i64 i = (i64)block_x() * block_size() + thread_id();
    if (i < a.y.len) store(a.y, i, load<float>(a.y, i) + load<float>(a.bias, i / a.size % a.bias.len));
}

