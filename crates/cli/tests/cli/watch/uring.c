/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A server on io_uring: port, and how it reads. "multishot": into a ring of buffers, by one request for all messages; "fixed":
 * read and write with registered buffers; "workers": by threads of the kernel. It answers each message with itself, after
 * the time that it begins with, in seconds.
 */
#include <arpa/inet.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFERS = 64, BYTES = 4096, GROUP = 1 };
enum action { ACCEPTED, CAME, SENT };

static char buffers[BUFFERS][BYTES];
static struct io_uring ring;
static struct io_uring_buf_ring *provided;
static const char *how;

static int is(const char *name) { return !strcmp(how, name); }

static void submit(struct io_uring_sqe *sqe, enum action action, int fd, int buffer)
{
	sqe->user_data = (unsigned long)action << 56 | (unsigned long)buffer << 32 | fd;
	if (action != ACCEPTED && is("workers"))
		sqe->flags |= IOSQE_ASYNC;
}

static void provide(int buffer)
{
	io_uring_buf_ring_add(provided, buffers[buffer], BYTES, buffer, io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(provided, 1);
}

static void receive(int fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
	int buffer = fd % BUFFERS;

	if (is("multishot")) {
		io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
		sqe->flags |= IOSQE_BUFFER_SELECT;
		sqe->buf_group = GROUP;
	} else if (is("fixed")) {
		io_uring_prep_read_fixed(sqe, fd, buffers[buffer], BYTES, 0, buffer);
	} else {
		io_uring_prep_recv(sqe, fd, buffers[buffer], BYTES, 0);
	}
	submit(sqe, CAME, fd, buffer);
}

static void answer(int fd, int buffer, int bytes)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	usleep(atof(buffers[buffer]) * 1e6);
	if (is("fixed"))
		io_uring_prep_write_fixed(sqe, fd, buffers[buffer], bytes, 0, buffer);
	else
		io_uring_prep_send(sqe, fd, buffers[buffer], bytes, 0);
	submit(sqe, SENT, fd, buffer);
}

static void done(const struct io_uring_cqe *cqe)
{
	int fd = (int)cqe->user_data, buffer = cqe->user_data >> 32 & 0xffffff;
	enum action action = cqe->user_data >> 56;
	int goes_on = cqe->flags & IORING_CQE_F_MORE;

	if (action == ACCEPTED) {
		receive(cqe->res);
	} else if (action == SENT && is("multishot")) {
		provide(buffer);
	} else if (action == SENT) {
		receive(fd);
	} else if (cqe->res > 0) {
		answer(fd, is("multishot") ? cqe->flags >> IORING_CQE_BUFFER_SHIFT : buffer, cqe->res);
		if (is("multishot") && !goes_on)
			receive(fd);
	} else if (!goes_on) {
		close(fd);
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(atoi(argv[1])) };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct iovec all[BUFFERS];
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	int error = 0, i;

	how = argv[2];
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (i = 0; i < BUFFERS; i++)
		all[i] = (struct iovec){ buffers[i], BYTES };
	if (io_uring_queue_init(2 * BUFFERS, &ring, 0) || bind(listener, (void *)&at, sizeof(at)) || listen(listener, BUFFERS))
		return 1;
	if (is("fixed"))
		error = io_uring_register_buffers(&ring, all, BUFFERS);
	if (is("multishot")) {
		struct io_uring_buf_reg group = { .ring_entries = BUFFERS, .bgid = GROUP };

		provided = aligned_alloc(4096, 4096);
		group.ring_addr = (unsigned long)provided;
		error = io_uring_register_buf_ring(&ring, &group, 0);
		io_uring_buf_ring_init(provided);
		for (i = 0; !error && i < BUFFERS; i++)
			provide(i);
	}
	/* A kernel that is too old. */
	if (error)
		return 77;
	sqe = io_uring_get_sqe(&ring);
	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, 0);
	submit(sqe, ACCEPTED, listener, 0);
	while (io_uring_submit_and_wait(&ring, 1) >= 0) {
		while (!io_uring_peek_cqe(&ring, &cqe)) {
			done(cqe);
			io_uring_cqe_seen(&ring, cqe);
		}
	}
	return 1;
}
