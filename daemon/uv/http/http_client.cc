#include "daemon/uv/http/http_client.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr long kIdleSeconds = 20;  // a connection unused for longer may have been closed meanwhile

// Once a process, before the first handle and while there is one thread that uses libcurl.
void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  ASSERT(started == CURLE_OK);
}

// Behind what libcurl says.
const char* advice(CURLcode code) {
  if (code == CURLE_PEER_FAILED_VERIFICATION)
    return "; the server must present a certificate for its name, from an authority that the "
           "system (package ca-certificates) or tls_ca_file names";
  if (code == CURLE_SSL_CACERT_BADFILE)
    return "; install the package ca-certificates, or correct tls_ca_file";
  return "";
}

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

}  // namespace

struct UvHttpClient::Transfer {
  ~Transfer() { curl_easy_cleanup(easy); }

  template <typename Value>
  void set(CURLoption option, Value value) const {
    ASSERT(curl_easy_setopt(easy, option, value) == CURLE_OK);
  }

  // False: it is more than may come.
  bool take(std::size_t size) {
    received += size;
    return received <= kMostReply;
  }

  // The next part of the request's body.
  std::size_t give(char* to, std::size_t most) {
    ASSERT(given <= request.body.size());
    const std::size_t size = std::min(most, request.body.size() - given);
    std::memcpy(to, request.body.data() + given, size);
    given += size;
    return size;
  }

  CURL* easy = nullptr;
  HttpRequest request;
  std::size_t given = 0;
  std::function<void(HttpReply)> done;
  std::unique_ptr<curl_slist, FreeList> headers;
  std::string body;
  std::size_t received = 0;
  std::array<char, CURL_ERROR_SIZE> error{};
};

// One socket that libcurl waits for.
struct UvHttpClient::Watch {
  uv_poll_t handle{};
  UvHttpClient* client = nullptr;
  curl_socket_t socket = CURL_SOCKET_BAD;
};

UvHttpClient::UvHttpClient(EventLoop& loop, int connections, std::string authorities)
    : loop_(loop.raw()),
      authorities_(std::move(authorities)),
      multi_((start_curl(), curl_multi_init())),
      timer_(new uv_timer_t) {
  ASSERT(multi_ != nullptr && connections > 0);
  ASSERT(uv_timer_init(loop_, timer_) == 0);
  timer_->data = this;
  uv_unref(reinterpret_cast<uv_handle_t*>(timer_));
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_time);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(connections));
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, static_cast<long>(connections));
}

UvHttpClient::~UvHttpClient() {
  for (const auto& [easy, transfer] : transfers_) curl_multi_remove_handle(multi_, easy);
  transfers_.clear();
  curl_multi_cleanup(multi_);  // lets go of the sockets of idle connections, too
  uv_close(reinterpret_cast<uv_handle_t*>(timer_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_timer_t*>(handle); });
}

void UvHttpClient::send(HttpRequest request, std::function<void(HttpReply)> done) {
  // To libcurl 0 is no limit.
  ASSERT(done && request.timeout_ms > 0);
  auto transfer = std::make_unique<Transfer>();
  CURL* const easy = transfer->easy = curl_easy_init();
  ASSERT(easy != nullptr);
  transfer->request = std::move(request);
  transfer->done = std::move(done);
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");  // no question before the body
  for (const std::string& header : transfer->request.headers)
    headers = curl_slist_append(headers, header.c_str());
  transfer->headers.reset(headers);

  const HttpRequest& asked = transfer->request;
  transfer->set(CURLOPT_URL, asked.url.c_str());
  if (asked.method == "GET") {
    transfer->set(CURLOPT_HTTPGET, 1L);
  } else {
    transfer->set(CURLOPT_POST, 1L);
    transfer->set(CURLOPT_POSTFIELDSIZE, static_cast<long>(asked.body.size()));
    if (asked.method != "POST") transfer->set(CURLOPT_CUSTOMREQUEST, asked.method.c_str());
  }
  transfer->set(CURLOPT_HTTPHEADER, headers);
  transfer->set(CURLOPT_TIMEOUT_MS, static_cast<long>(asked.timeout_ms));
  transfer->set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(asked.timeout_ms));
  transfer->set(CURLOPT_PROTOCOLS_STR, "http,https");
  transfer->set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  transfer->set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!authorities_.empty()) transfer->set(CURLOPT_CAINFO, authorities_.c_str());
  transfer->set(CURLOPT_FOLLOWLOCATION, 0L);
  transfer->set(CURLOPT_PROXY, "");
  transfer->set(CURLOPT_NOSIGNAL, 1L);
  transfer->set(CURLOPT_QUICK_EXIT, 1L);  // the end of a look-up of a name is not waited for
  transfer->set(CURLOPT_MAXAGE_CONN, kIdleSeconds);
  transfer->set(CURLOPT_ERRORBUFFER, transfer->error.data());
  // By a function and not as a whole: what was read from it cannot be read again, so libcurl never
  // repeats a request after its connection was closed. A refusal of the second would prove nothing
  // about the first.
  using Source = std::size_t (*)(char*, std::size_t, std::size_t, void*);
  transfer->set(CURLOPT_READDATA, transfer.get());
  transfer->set(CURLOPT_READFUNCTION,
                static_cast<Source>([](char* to, std::size_t one, std::size_t count, void* from) {
                  return static_cast<Transfer*>(from)->give(to, one * count);
                }));
  using Sink = std::size_t (*)(char*, std::size_t, std::size_t, void*);
  transfer->set(CURLOPT_WRITEDATA, transfer.get());
  transfer->set(CURLOPT_WRITEFUNCTION,
                static_cast<Sink>([](char* data, std::size_t one, std::size_t count, void* to) {
                  auto* const taker = static_cast<Transfer*>(to);
                  if (!taker->take(one * count)) return std::size_t{0};
                  taker->body.append(data, one * count);
                  return one * count;
                }));
  transfer->set(CURLOPT_HEADERDATA, transfer.get());
  transfer->set(CURLOPT_HEADERFUNCTION,
                static_cast<Sink>([](char*, std::size_t one, std::size_t count, void* to) {
                  return static_cast<Transfer*>(to)->take(one * count) ? one * count : 0;
                }));
  transfers_.emplace(easy, std::move(transfer));
  ASSERT(curl_multi_add_handle(multi_, easy) == CURLM_OK);
}

int UvHttpClient::on_time(CURLM* /*multi*/, long delay_ms, void* client) {
  auto* const self = static_cast<UvHttpClient*>(client);
  if (delay_ms < 0) {
    uv_timer_stop(self->timer_);
    return 0;
  }
  // Never at once, from within libcurl: the loop calls.
  uv_update_time(self->loop_);
  const auto fire = [](uv_timer_t* timer) {
    static_cast<UvHttpClient*>(timer->data)->act(CURL_SOCKET_TIMEOUT, 0);
  };
  uv_timer_start(self->timer_, fire, static_cast<std::uint64_t>(delay_ms), 0);
  return 0;
}

int UvHttpClient::on_socket(CURL* /*easy*/, curl_socket_t socket, int what, void* client,
                            void* watch) {
  static_cast<UvHttpClient*>(client)->watch(socket, what, static_cast<Watch*>(watch));
  return 0;
}

void UvHttpClient::watch(curl_socket_t socket, int what, Watch* watch) {
  if (what == CURL_POLL_REMOVE) {
    if (watch == nullptr) return;
    curl_multi_assign(multi_, socket, nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&watch->handle),
             [](uv_handle_t* handle) { delete static_cast<Watch*>(handle->data); });
    return;
  }
  if (watch == nullptr) {
    watch = new Watch;
    watch->client = this;
    watch->socket = socket;
    ASSERT(uv_poll_init_socket(loop_, &watch->handle, socket) == 0);
    watch->handle.data = watch;
    curl_multi_assign(multi_, socket, watch);
  }
  ASSERT(watch->client == this && watch->socket == socket);
  const int events = ((what & CURL_POLL_IN) != 0 ? UV_READABLE : 0) |
                     ((what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0);
  const auto ready = [](uv_poll_t* handle, int status, int seen) {
    const Watch* const found = static_cast<Watch*>(handle->data);
    const int flags = ((seen & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0) |
                      ((seen & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0) |
                      (status < 0 ? CURL_CSELECT_ERR : 0);
    found->client->act(found->socket, flags);
  };
  ASSERT(uv_poll_start(&watch->handle, events, ready) == 0);
}

// Lets libcurl continue, and answers the completed transfers.
void UvHttpClient::act(curl_socket_t socket, int events) {
  int running = 0;
  ASSERT(curl_multi_socket_action(multi_, socket, events, &running) == CURLM_OK);
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) finish(message->easy_handle, message->data.result);
  }
}

void UvHttpClient::finish(CURL* easy, CURLcode code) {
  const auto found = transfers_.find(easy);
  ASSERT(found != transfers_.end());
  const std::unique_ptr<Transfer> transfer = std::move(found->second);
  transfers_.erase(found);
  HttpReply reply;
  if (code == CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    reply.status = static_cast<int>(status);
    reply.body = std::move(transfer->body);
  } else {
    long written = 0;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &written);
    reply.sent = written > 0 || code == CURLE_SEND_ERROR;
    reply.error = transfer->error[0] != '\0' ? transfer->error.data() : curl_easy_strerror(code);
    reply.error += advice(code);
    if (transfer->received > kMostReply)
      reply.error = "the answer is longer than " + std::to_string(kMostReply) + " bytes";
  }
  curl_multi_remove_handle(multi_, easy);
  transfer->done(std::move(reply));
}

}  // namespace seqd
