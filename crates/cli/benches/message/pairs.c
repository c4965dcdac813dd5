/* A pair of sockets of libzmq (-DZMQ) or nng, a process an end, over 127.0.0.1.
 *
 *     pairs TEST BYTES MILLISECONDS CLIENT-PROCESSOR SERVER-PROCESSOR
 *
 * Prints for oneway and post the messages a second, for pingpong the median and the 99th percentile of a round trip
 * in nanoseconds. A library begins its threads in the process, and on the processor, that makes the socket.
 *
 * Both queues hold about 1 MiB, sending copies but for a bulk reply of libzmq, and a message is looked at where the
 * library has it. Neither library tells what its threads still have: the server's clock counts what arrived. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ADDRESS "tcp://127.0.0.1:19872"
#define MOST_TIMES 4000000

static void check(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "pairs: cannot %s\n", what);
		exit(1);
	}
}

static int queue(size_t bytes)
{
	size_t fit = (1 << 20) / (bytes + 64);
	return fit < 2 ? 2 : fit > 8192 ? 8192 : (int)fit;
}

/* The functions are declared here, so that a bench needs the libraries and not their headers. */
#ifdef ZMQ
typedef struct { _Alignas(void *) unsigned char opaque[64]; } zmq_msg_t;
void *zmq_ctx_new(void);
void *zmq_socket(void *, int);
int zmq_setsockopt(void *, int, const void *, size_t);
int zmq_bind(void *, const char *);
int zmq_connect(void *, const char *);
int zmq_send(void *, const void *, size_t, int);
int zmq_msg_init(zmq_msg_t *);
int zmq_msg_init_data(zmq_msg_t *, void *, size_t, void (*)(void *, void *), void *);
int zmq_msg_send(zmq_msg_t *, void *, int);
int zmq_msg_recv(zmq_msg_t *, void *, int);
int zmq_msg_close(zmq_msg_t *);
enum { ZMQ_PAIR = 0, ZMQ_SNDHWM = 23, ZMQ_RCVHWM = 24 };

static void *sock;

static void open_end(int server, size_t bytes)
{
	int most = queue(bytes);
	check((sock = zmq_socket(zmq_ctx_new(), ZMQ_PAIR)) != NULL, "make a socket");
	zmq_setsockopt(sock, ZMQ_SNDHWM, &most, sizeof most);
	zmq_setsockopt(sock, ZMQ_RCVHWM, &most, sizeof most);
	check((server ? zmq_bind(sock, ADDRESS) : zmq_connect(sock, ADDRESS)) == 0, "connect");
}

static void say(const void *at, size_t bytes) { check(zmq_send(sock, at, bytes, 0) >= 0, "send"); }

static void kept(void *data, void *hint) { (void)data, (void)hint; }

static void say_bulk(void *at, size_t bytes)
{
	zmq_msg_t message;
	zmq_msg_init_data(&message, at, bytes, kept, NULL);
	check(zmq_msg_send(&message, sock, 0) >= 0, "send");
}

static size_t hear(void)
{
	zmq_msg_t message;
	zmq_msg_init(&message);
	int bytes = zmq_msg_recv(&message, sock, 0);
	check(bytes >= 0, "receive");
	zmq_msg_close(&message);
	return (size_t)bytes;
}
#else
typedef struct { uint32_t id; } nng_id;
typedef struct nng_msg nng_msg;
int nng_pair0_open(nng_id *);
int nng_socket_set_int(nng_id, const char *, int);
int nng_socket_set_size(nng_id, const char *, size_t);
int nng_listen(nng_id, const char *, nng_id *, int);
int nng_dial(nng_id, const char *, nng_id *, int);
int nng_send(nng_id, void *, size_t, int);
int nng_recvmsg(nng_id, nng_msg **, int);
size_t nng_msg_len(const nng_msg *);
void nng_msg_free(nng_msg *);
enum { NNG_FLAG_NONBLOCK = 2 };

static nng_id sock;

static void open_end(int server, size_t bytes)
{
	check(nng_pair0_open(&sock) == 0, "make a socket");
	nng_socket_set_int(sock, "send-buffer", queue(bytes));
	nng_socket_set_int(sock, "recv-buffer", queue(bytes));
	nng_socket_set_size(sock, "recv-size-max", 0);
	int failed = server ? nng_listen(sock, ADDRESS, NULL, 0) : nng_dial(sock, ADDRESS, NULL, NNG_FLAG_NONBLOCK);
	check(failed == 0, "connect");
}

static void say(const void *at, size_t bytes) { check(nng_send(sock, (void *)at, bytes, 0) == 0, "send"); }

static void say_bulk(void *at, size_t bytes) { say(at, bytes); }

static size_t hear(void)
{
	nng_msg *message;
	check(nng_recvmsg(sock, &message, 0) == 0, "receive");
	size_t bytes = nng_msg_len(message);
	nng_msg_free(message);
	return bytes;
}
#endif

static int64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* An empty message is the last one. */
static void serve(const char *test, void *body, size_t bytes)
{
	int64_t first = 0, last = 0, count = 0;
	for (; hear() != 0; count++) {
		if (*test == 'o') {
			last = now();
			first = first ? first : last;
		} else if (strcmp(test, "post") == 0) {
			say_bulk(body, bytes);
		} else {
			say(body, bytes);
		}
	}
	if (*test == 'o')
		printf("%.1f\n", count > 1 ? (count - 1) * 1e9 / (last - first) : 0.0);
	fflush(stdout);
	say("!", 1);
}

static void request(const char *test, void *body, size_t bytes, int64_t length_ns)
{
	int64_t *times = malloc(MOST_TIMES * sizeof *times), count = 0, begin = now(), before = begin, after = begin;
	check(times != NULL, "have memory");
	int post = strcmp(test, "post") == 0;
	for (; after - begin < length_ns && (post || count < MOST_TIMES); before = after) {
		say(body, post ? 4 : bytes);
		if (*test == 'o') {
			/* Reading the clock is not to cost as much as a message. */
			after = ++count % 256 ? after : now();
			continue;
		}
		check(hear() == bytes, "get the reply as it was sent");
		after = now();
		if (!post)
			times[count] = after - before;
		count++;
	}
	say("", 0);
	check(hear() == 1, "hear that everything arrived");
	if (post)
		printf("%.1f\n", count * 1e9 / (after - begin));
	if (strcmp(test, "pingpong") == 0) {
		qsort(times, count, sizeof *times, by_size);
		printf("%ld %ld\n", (long)times[count / 2], (long)times[count * 99 / 100]);
	}
}

static void pin(const char *processor)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(atoi(processor), &set);
	check(sched_setaffinity(0, sizeof set, &set) == 0, "use that processor");
}

int main(int count, char **word)
{
	check(count == 6, "go without TEST BYTES MILLISECONDS CLIENT-PROCESSOR SERVER-PROCESSOR");
	const char *test = word[1];
	size_t bytes = strtoul(word[2], NULL, 10);
	void *body = calloc(1, bytes + 4);
	check(body != NULL && bytes > 0, "have memory");
	alarm(60);
	pid_t server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(word[5]);
		open_end(1, bytes);
		/* A connection is there once the first message has come. */
		check(hear() == 1, "hear the client");
		say("!", 1);
		serve(test, body, bytes);
		/* What is closed takes with it what it has not sent. */
		sleep(60);
	}
	pin(word[4]);
	open_end(0, bytes);
	say("!", 1);
	check(hear() == 1, "hear the server");
	request(test, body, bytes, strtoll(word[3], NULL, 10) * 1000000);
	fflush(stdout);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	return 0;
}
