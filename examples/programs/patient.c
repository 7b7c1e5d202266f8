/* Patient of docs/custom_bots.md as a program in C, without libraries.
 *
 *     cc -O2 -o patient patient.c
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

/* Returns how many numbers the list `name` of a line has, and writes them down. */
static int numbers(const char *line, const char *name, long long *found) {
    char *at = strstr(line, name);
    int count = 0;
    if (!at) return 0;
    for (at = strchr(at, '[') + 1; *at != ']' && count < MOST; count++) {
        found[count] = strtoll(at, &at, 10);
        at += strspn(at, ", ");
    }
    return count;
}

/* Returns the 1024ths of the balance that are at least this amount. */
static long long share_for(long long amount, long long balance) {
    long long share = (1024 * amount + balance - 1) / (balance > 0 ? balance : 1);
    return share < 1 ? 1 : share > 1024 ? 1024 : share;
}

static void decide(const char *line) {
    static long long legal[MOST], troops[MOST], land[MOST];
    int count = numbers(line, "\"legal\"", legal);
    numbers(line, "\"troops\"", troops);
    numbers(line, "\"land\"", land);
    long long own = strtoll(strstr(line, "\"seat\": ") + 8, NULL, 10), balance = troops[own];
    if (count && legal[0] == 0) {
        printf("{\"target\": 0, \"share\": %lld}\n", share_for(balance / 10, balance));
    } else if (!count || balance < 110 * land[own]) {
        puts("{}");
    } else {
        long long thinnest = legal[0];
        for (int i = 1; i < count; i++)
            if (troops[legal[i]] * land[thinnest] < troops[thinnest] * land[legal[i]]) thinnest = legal[i];
        printf("{\"target\": %lld, \"share\": %lld}\n", thinnest, share_for(balance / 4, balance));
    }
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        if (strncmp(line, "{\"hello\"", 8) == 0) puts("{\"name\": \"patient-in-c\", \"interval\": 100}");
        if (strncmp(line, "{\"decide\"", 9) == 0) decide(line);
        fflush(stdout);
    }
    free(line);
    return 0;
}
