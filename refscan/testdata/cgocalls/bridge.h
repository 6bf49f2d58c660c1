void wait_for(int fd);
void call_back(int which);
