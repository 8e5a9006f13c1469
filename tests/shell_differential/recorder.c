/* Every program of the test: writes down how it was called and exits as its name says. `time` runs what follows. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char **words) {
    char record[65536];
    size_t length = 0;
    const char *path = getenv("CREEL_RECORDER_LOG");
    const char *name = strrchr(words[0], '/');
    name = name ? name + 1 : words[0];
    if (strcmp(name, "time") == 0 && count > 1) {
        int at = strcmp(words[1], "-p") == 0 ? 2 : 1;
        if (at >= count) return 0;
        execvp(words[at], words + at);
        return 127;
    }
    length += (size_t)snprintf(record, sizeof record, "%d", count) + 1;
    for (int at = 0; at < count; at++) {
        size_t more = strlen(words[at]) + 1;
        if (length + more > sizeof record) return 99;
        memcpy(record + length, words[at], more);
        length += more;
    }
    int log = path ? open(path, O_WRONLY | O_APPEND) : -1;
    if (log < 0 || write(log, record, length) != (ssize_t)length) return 99;
    return strcmp(name, "f") == 0 ? 1 : strcmp(name, "g") == 0 ? 3 : 0;
}
