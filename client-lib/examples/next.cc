// Takes one ID, then ten at once by pipelining. Build: c++ next.cc $(pkg-config --cflags --libs
// libseqd) Usage: next SEQUENCE [SOCKET]
#include <iostream>
#include <seqd.hpp>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " SEQUENCE [SOCKET]\n";
    return 2;
  }
  const std::string sequence = argv[1];
  seqd::client::Options options;
  options.name = "example";
  if (argc > 2) options.socket_path = argv[2];
  seqd::client::Client client(options);

  const auto id = client.next(sequence);
  if (!id) {
    std::cerr << id.error().name() << ": " << id.error().text << "\n";
    return 1;
  }
  std::cout << "one ID: " << *id << "\n";

  for (int i = 0; i < 10; ++i) {
    const auto error = client.submit_next(sequence, nullptr);
    if (error.code != SEQD_OK) std::cerr << error.text << "\n";
  }
  while (client.pending() > 0) {
    const auto replies = client.poll(std::chrono::seconds(1));
    if (!replies) return 1;
    for (const auto& reply : *replies) {
      if (reply.ok())
        std::cout << "and " << reply.id() << "\n";
      else
        std::cerr << reply.error.name() << ": " << reply.error.text << "\n";
    }
  }
  return 0;
}
