#include <unistd.h>
#include "bridge.h"

extern void goCallback(int which);

void wait_for(int fd) {
	char c;
	while (read(fd, &c, 1) < 0) {
	}
}

void call_back(int which) { goCallback(which); }
